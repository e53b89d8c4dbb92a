"""Questions about sessions, events, projects and digests."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from operator import itemgetter
from typing import Any

import msgspec

from session_memory.core.hashing import blake2b
from session_memory.core.schema import Cost, Digest, Session, SessionEvent
from session_memory.core.session_reference import Lookup, SessionName, find
from session_memory.errors import NotFound, StoreDamaged
from session_memory.store.segments import SegmentReader
from session_memory.store.sqlite.connection import Database, Row, rows, value
from session_memory.store.sqlite.ids import event_range, split
from session_memory.store.values import SessionQuery

_decode = msgspec.json.decode

_SESSION = """
SELECT s.id, s.flavor, s.external_id, s.parent_external_id, p.id, s.forked_from, s.project_id,
  project.key, s.cwd, s.repo, s.domain, s.branch, s.commit_id, s.models, s.client_version,
  s.source_kind, s.started_at, s.ended_at, s.title, s.label, s.low_value, s.event_count,
  s.parser_version, s.state, s.metadata
FROM session s
LEFT JOIN session p ON p.flavor = s.flavor AND p.external_id = s.parent_external_id
LEFT JOIN project ON project.id = s.project_id
"""
_SESSION_NAMES = (
    "SELECT id, external_id, flavor, coalesce(title, metadata ->> 'operational_label') FROM session"
)
_COST = """
SELECT session_id, sum(input), sum(output), sum(cache_read), sum(cache_write_5m),
  sum(cache_write_1h), sum(reasoning), sum(usd), max(price_table)
FROM usage WHERE counted = 1 AND session_id
"""
_SOURCE, _POSITION, _PLACE = itemgetter(1), itemgetter(2), itemgetter(21, 2)
"""Of a row of `_event_rows`: its file, where it stands there, and both as they are ordered."""
_EVENT_COLUMNS = """
e.id, e.source_id, e.pos, e.at, e.kind, e.origin, e.tool, e.tool_class, e.call_id, e.is_error,
e.exit_code, e.files, e.command, e.usage_key, e.fingerprint, e.inherited, e.label, e.segment_id,
e.body_at, e.body_len
"""


def sessions(db: Database, query: SessionQuery) -> list[Session]:
    """Sessions that fit, newest first."""
    where, bindings = _conditions(query)
    sql = f"{_SESSION} {where} ORDER BY s.ended_at DESC, s.id DESC"
    if query.limit is not None:
        sql += f" LIMIT {int(query.limit)} OFFSET {int(query.offset)}"
    found = rows(db, sql, bindings)
    ids = msgspec.json.encode([row[0] for row in found]).decode()
    among = "IN (SELECT value FROM json_each(?)) GROUP BY session_id"
    return _with_costs(found, rows(db, _COST + among, (ids,)))


def _conditions(query: SessionQuery) -> tuple[str, list[Any]]:
    # A title without a conversation is no session yet; one whose file was rewritten still is.
    spoken = "(s.event_count > 0 OR s.raw_events > 0 OR s.state = 'raw_evicted')"
    parts = ["1" if query.include_empty else spoken]
    bindings: list[Any] = []
    for condition, wanted in (
        ("s.flavor = ?", query.flavor),
        ("project.key = ?", query.project),
        ("s.ended_at >= ?", query.since),
        ("s.started_at < ?", query.until),
        ("s.state = ?", query.state),
        ("s.id IN (SELECT session_id FROM digest WHERE outcome = ?)", query.outcome),
    ):
        if wanted is not None:
            parts.append(condition)
            bindings.append(wanted)
    if not query.include_subagents:
        parts.append("s.parent_external_id IS NULL")
    return "WHERE " + " AND ".join(parts), bindings


def session(db: Database, session_id: int) -> Session:
    """One session by our id."""
    found = rows(db, f"{_SESSION} WHERE s.id = ?", (session_id,))
    if not found:
        raise NotFound(f"no session {session_id}")
    return _with_costs(found, rows(db, _COST + "= ? GROUP BY session_id", (session_id,)))[0]


def find_session(db: Database, text: str) -> Session:
    """One session by a reference, see core.session_reference."""
    return session(db, find(text, Lookup(partial(_numbered, db), partial(_called, db))))


def _numbered(db: Database, number: int) -> list[SessionName]:
    return [SessionName(*row) for row in rows(db, f"{_SESSION_NAMES} WHERE id = ?", (number,))]


def _called(db: Database, native_id: str) -> list[SessionName]:
    escaped = native_id.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
    selected = rows(
        db,
        f"{_SESSION_NAMES} WHERE external_id LIKE ? ESCAPE '\\' OR external_id LIKE ? ESCAPE '\\'"
        " ORDER BY id",
        (escaped + "%", "%:" + escaped),
    )
    return [SessionName(*row) for row in selected]


def own_session(db: Database, native_id: str, flavor: str | None) -> Session | None:
    """The session that its agent calls so, whole; None where none or several do."""
    selected = rows(
        db,
        "SELECT id FROM session WHERE external_id = ? AND flavor = coalesce(?, flavor)",
        (native_id, flavor),
    )
    return session(db, selected[0][0]) if len(selected) == 1 else None


def _with_costs(session_rows: list[Row], cost_rows: list[Row]) -> list[Session]:
    costs = {row[0]: Cost(*row[1:7], usd=row[7], price_table=row[8]) for row in cost_rows}
    return [_session(row, costs.get(row[0], Cost())) for row in session_rows]


def _session(row: Row, cost: Cost) -> Session:
    return Session(
        id=row[0],
        flavor=row[1],
        external_id=row[2],
        parent_external_id=row[3],
        parent_id=row[4],
        forked_from=row[5],
        project_id=row[6],
        project_key=row[7],
        cwd=row[8],
        repo=row[9],
        domain=row[10],
        branch=row[11],
        commit=row[12],
        models=tuple(_decode(row[13])),
        client_version=row[14],
        source_kind=row[15],
        started_at=row[16],
        ended_at=row[17],
        title=row[18],
        label=row[19],
        low_value=row[20],
        event_count=row[21],
        cost=cost,
        parser_version=row[22],
        state=row[23],
        metadata=_decode(row[24]),
    )


def events(
    db: Database,
    session_id: int,
    reader: SegmentReader | None = None,
    *,
    superseded: bool = False,
) -> Iterator[SessionEvent]:
    """Events in source order; with a reader, their texts are filled in."""
    event_rows = _event_rows(db, event_range(session_id), superseded)
    calls = {row[8] for row in event_rows if row[4] == "tool_call" and row[8]}
    results = {row[8] for row in event_rows if row[4] == "tool_result" and row[8]}
    both = calls & results
    tokens = _tokens(db, session_id)
    for row in event_rows:
        text = None
        if reader is not None:
            text = "" if row[17] is None else _text_of(db, reader, row)
        yield _event(row, row[8] in both, tokens.pop(row[13], None), text)


def events_to_distil(
    db: Database, session_id: int, reader: SegmentReader, from_seq: int
) -> Iterator[SessionEvent]:
    """Live events numbered from there on, in source order, with their texts."""
    first, last = event_range(session_id)
    fresh = reader.fresh.decoded
    for row in _event_rows(db, (first + from_seq, last), False):
        if row[17] is None:
            text = ""
        elif (text := fresh(row[20], row[18])) is None:
            text = _text_of(db, reader, row)
        yield _event(row, False, None, text)


def _event_rows(db: Database, ids: tuple[int, int], superseded: bool) -> list[Row]:
    """In source order, read by one statement: a commit between two would show half of itself."""
    event_rows = rows(
        db,
        f"SELECT {_EVENT_COLUMNS}, segment.name, source.path FROM event e"
        " JOIN source ON source.id = e.source_id LEFT JOIN segment ON segment.id = e.segment_id"
        " WHERE e.id BETWEEN ? AND ? AND e.superseded = ? ORDER BY e.id",
        (*ids, superseded),
    )
    # By number they come, and nearly sorted: a temporary B-tree does not use that.
    event_rows.sort(key=_PLACE if len(set(map(_SOURCE, event_rows))) > 1 else _POSITION)
    return event_rows


def events_by_id(db: Database, ids: list[int]) -> Iterator[SessionEvent]:
    """Single live events, in no particular order; tokens and pairing belong to whole sessions."""
    for row in rows(
        db,
        f"SELECT {_EVENT_COLUMNS} FROM event e"
        " WHERE e.id IN (SELECT value FROM json_each(?)) AND NOT e.superseded",
        (msgspec.json.encode(ids).decode(),),
    ):
        yield _event(row, False, None, None)


def _text_of(db: Database, reader: SegmentReader, row: Row) -> str:
    """The text of a row read a while ago: compaction may have moved it, eviction taken it away."""
    try:
        return body_text(reader, row[20], row[17:20])
    except StoreDamaged:
        return text(db, row[0], reader)


def _tokens(db: Database, session_id: int) -> dict[int | None, Cost]:
    """Usage by key; the first event of a response, in source order, carries it."""
    return {
        row[0]: Cost(*row[1:7], usd=row[7], price_table=row[8])
        for row in rows(
            db,
            "SELECT key, input, output, cache_read, cache_write_5m, cache_write_1h, reasoning,"
            " usd, price_table FROM usage WHERE session_id = ?",
            (session_id,),
        )
    }


def _event(row: Row, paired: bool, tokens: Cost | None, text: str | None) -> SessionEvent:
    session_id, seq = split(row[0])
    segment_id = row[17]
    return SessionEvent(  # in the order of its fields: by name it would take a third longer
        session_id,
        seq,
        row[4],
        row[5],
        row[3],
        row[6],
        row[7],
        row[8],
        paired,
        bool(row[15]),
        bool(row[9]),
        row[10],
        tuple(_decode(row[11])) if row[11] else (),
        row[12],
        tokens,
        row[14],
        None if segment_id is None else (segment_id, row[18], row[19]),
        (row[1], row[2]),
        row[16],
        text,
        row[0],
    )


def body_text(reader: SegmentReader, name: str | None, body_ref: tuple[int, int, int]) -> str:
    """The text a row points at."""
    segment_id, at, length = body_ref
    if name is None:
        raise StoreDamaged(f"there is no segment {segment_id}")
    return reader.decoded(name, at, length)


def text(db: Database, event_id: int, reader: SegmentReader) -> str:
    """The text of an event as it is stored now: it may have moved since the caller read it.

    A file that is not there is damage only if the event still names it when asked again. Its name
    decides, not the segment's id: SQLite gives the id of a deleted row to the next one.
    """
    missing = None
    while True:
        row = db.execute(
            "SELECT g.name, e.segment_id, e.body_at, e.body_len FROM event e"
            " LEFT JOIN segment g ON g.id = e.segment_id WHERE e.id = ?",
            (event_id,),
        ).fetchone()
        if row is None:
            raise NotFound("the text of this event was evicted")
        if row[1] is None:
            return ""
        try:
            return body_text(reader, row[0], row[1:])
        except StoreDamaged:
            if row[0] == missing:
                raise
            missing = row[0]


def digest_stamps(db: Database) -> dict[str, str]:
    """For each project a hash over what tells one state of its digests from another."""
    hashes: dict[str, blake2b] = {}
    for key, *state in db.execute(
        "SELECT p.key, s.id, s.observer, s.started_at, s.ended_at, s.branch, s.parent_external_id,"
        " s.source_kind, d.source_fingerprint FROM session s JOIN digest d ON d.session_id = s.id"
        " JOIN project p ON p.id = s.project_id ORDER BY s.id"
    ):
        if key not in hashes:
            hashes[key] = blake2b(digest_size=16)
        hashes[key].update(repr(state).encode())
    return {key: hash.hexdigest() for key, hash in hashes.items()}


def digest(db: Database, session_id: int, table: str = "digest") -> Digest | None:
    """The stored digest, also a stale one while a new one is being made."""
    body = value(db, f"SELECT body FROM {table} WHERE session_id = ?", (session_id,))
    return None if body is None else msgspec.json.decode(body, type=Digest)
