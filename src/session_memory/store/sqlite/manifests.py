"""The manifest of a segment, from the rows of its session; see store.manifest."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from session_memory.core.facts import Fact
from session_memory.store.manifest import (
    Columns,
    EventRow,
    Manifest,
    ProjectRow,
    StatedFact,
    encode,
    key_mark,
)
from session_memory.store.segments import Packed, SegmentStore, pack, unpack
from session_memory.store.sqlite.connection import Database, Row, for_each, rows, value
from session_memory.store.sqlite.ids import SEQ_BITS, SEQ_MASK, event_range
from session_memory.store.values import SessionHandle, UsageDraft

_EVENT = (
    "id, source_id, pos, at, kind, origin, tool, tool_class, call_id, is_error, exit_code, files,"
    " command, usage_key, fingerprint, superseded, label, body_at, body_len"
)
_USAGE = (
    "key, model, at, input, output, cache_read, cache_write_5m, cache_write_1h, reasoning,"
    " stated_usd, usd, price_table, sidechain, mode"
)
_PROJECT = (
    "SELECT s.id, s.flavor, s.external_id, s.parent_external_id, s.repo, s.metadata, p.key, p.root,"
    " p.remote, p.worktree_of, p.domain, p.source, p.confidence"
    " FROM session s LEFT JOIN project p ON p.id = s.project_id WHERE s.id = ?"
)
_RESOLUTION = ("source", "confidence", "warnings")
_FIELDS = EventRow.__struct_fields__


class OpenSession(msgspec.Struct):
    """What a write transaction still holds in memory for one session."""

    handle: SessionHandle
    next_seq: int
    segment_id: int = 0
    bodies: list[bytes] = []
    body_bytes: int = 0
    decoded: dict[int, str] = {}
    """Bodies as texts, by where they begin, as far as they came so."""
    index_bytes: int = 0
    added: int = 0
    rows: list[tuple[Any, ...]] = []
    """Of `statements.INSERT_EVENT`: what the next segment records of its events."""
    facts: list[tuple[int, Fact]] = []
    usages: list[UsageDraft] = []
    paths: dict[int, str] = {}
    """Of the sources that rows and facts came from."""
    place: int | None = None
    """Of the entries that the indexes hold of it already."""
    texts: list[tuple[int, str]] = []
    turns: list[tuple[int, str]] = []
    """Entries of the indexes that wait for the commit, when the session's project is known."""

    @property
    def new_events(self) -> tuple[int, int]:
        """First and last id of the events that the transaction added."""
        end = (self.handle.id << SEQ_BITS) + self.next_seq
        return end - self.added, end - 1


class Parts(msgspec.Struct):
    """What is known of a session beyond its row."""

    events: Sequence[Sequence[Any]]
    """Columns in the order of `_EVENT`; none where there are no events."""
    facts: list[tuple[int, Fact]]
    usages: list[UsageDraft]
    paths: dict[int, tuple[str, str]]
    """Source to its flavour and path."""


def manifest(row: Row, mark: bytes, parts: Parts) -> Manifest:
    """A manifest of these parts of a session; `row` is that of `_PROJECT`."""
    flavor, external_id, parent, repo, metadata = row[1:6]
    project = None
    if row[6] is not None:
        fields: dict[str, Any] = msgspec.json.decode(metadata)
        resolution = {name: fields.get(f"project_resolution_{name}") for name in _RESOLUTION}
        project = ProjectRow(*row[6:13], repo=repo, resolution=resolution)
    columns: Columns = dict(zip(_FIELDS, parts.events, strict=False))
    if not columns:
        columns = dict.fromkeys(_FIELDS, ())
    used = dict.fromkeys(columns["source"])
    used |= dict.fromkeys(source_id for source_id, _ in parts.facts)
    index = {source_id: place for place, source_id in enumerate(used)}
    columns["seq"] = [event_id & SEQ_MASK for event_id in columns["seq"]]
    columns["source"] = [index[source_id] for source_id in columns["source"]]
    return Manifest(
        mark,
        flavor,
        external_id,
        parent,
        tuple(parts.paths[source_id] for source_id in used),
        columns,
        tuple(
            StatedFact(index[source_id], fact.name, fact.value, fact.pos)
            for source_id, fact in parts.facts
        ),
        tuple(parts.usages),
        project,
    )


def _mark(db: Database) -> bytes:
    return key_mark(bytes(value(db, "SELECT value FROM meta WHERE name = 'fingerprint_key'")))


def of_commit(db: Database, states: list[OpenSession], texts: list[bytes]) -> Iterator[bytes]:
    """The manifests of what one commit adds to sessions."""
    mark = _mark(db)
    sessions = for_each(db, _PROJECT, [state.handle.id for state in states])
    for row, state, text in zip(sessions, states, texts, strict=True):
        columns = list(zip(*state.rows, strict=True))
        events = (*columns[:15], (0,) * len(state.rows), columns[16], *columns[18:20])
        paths = {source_id: (state.handle.flavor, path) for source_id, path in state.paths.items()}
        parts = Parts(events, state.facts, state.usages, paths)
        yield encode(manifest(row, mark, parts), text)


def whole(db: Database, session_id: int) -> Parts:
    """Everything that is stored of a session."""
    return Parts(
        list(
            zip(
                *rows(
                    db,
                    f"SELECT {_EVENT} FROM event WHERE id BETWEEN ? AND ? ORDER BY id",
                    event_range(session_id),
                ),
                strict=True,
            )
        ),
        [
            (row[0], Fact(row[1], msgspec.json.decode(row[2]), row[3]))
            for row in rows(
                db,
                "SELECT source_id, name, value, pos FROM fact WHERE session_id = ?"
                " ORDER BY source_id, pos, name, slot",
                (session_id,),
            )
        ],
        [
            UsageDraft(*row[:12], sidechain=bool(row[12]), mode=row[13])
            for row in rows(
                db,
                f"SELECT {_USAGE} FROM usage WHERE session_id = ? ORDER BY at, key",
                (session_id,),
            )
        ],
        {
            row[0]: (row[1], row[2])
            for row in rows(
                db,
                "SELECT id, flavor, path FROM source WHERE id IN (SELECT source_id FROM"
                " session_source WHERE session_id = ?1 UNION SELECT source_id FROM fact"
                " WHERE session_id = ?1 UNION SELECT source_id FROM event WHERE id BETWEEN ?2"
                " AND ?3)",
                (session_id, *event_range(session_id)),
            )
        },
    )


def pack_session(db: Database, session_id: int, text: bytes) -> Packed:
    """One segment for all of a session; its rows already say where in `text` each event is."""
    row = db.execute(_PROJECT, (session_id,)).fetchone()
    whole_manifest = manifest(row, _mark(db), whole(db, session_id))
    return pack(session_id, text, encode(whole_manifest, text))


def repack(db: Database, segments: SegmentStore, session_id: int) -> int:
    """Write a session's texts into one new segment that records what the rows say now.

    Inside a transaction; the old files go after it. Returns how many there were.
    """
    parts = rows(
        db,
        "SELECT id, name, text_bytes FROM segment WHERE session_id = ? ORDER BY id",
        (session_id,),
    )
    if not parts:
        return 0
    text = b"".join(unpack(segments, name) for _, name, _ in parts)
    base = 0
    for segment_id, name, text_bytes in parts:
        db.execute(
            "UPDATE event SET segment_id = ?, body_at = body_at + ?"
            " WHERE id BETWEEN ? AND ? AND segment_id = ?",
            (parts[0][0], base, *event_range(session_id), segment_id),
        )
        db.execute("DELETE FROM segment WHERE id = ?", (segment_id,))
        db.execute("INSERT OR IGNORE INTO doomed_segment VALUES (?)", (name,))
        base += text_bytes
    packed = pack_session(db, session_id, text)
    segments.put([packed])
    insert_segment(db, parts[0][0], session_id, packed)
    return len(parts)


def insert_segment(db: Database, segment_id: int | None, session_id: int, packed: Packed) -> int:
    """The row of a segment; returns its number."""
    insert_segments(db, [(segment_id, session_id, packed)])
    return db.last_insert_rowid()


def insert_segments(db: Database, segments: list[tuple[int | None, int, Packed]]) -> None:
    """The rows of segments, each with its number and that of its session."""
    db.executemany(
        "INSERT INTO segment (id, session_id, name, bytes, text_bytes, hash)"
        " VALUES (?, ?, ?, ?, ?, ?)",
        [
            (number, session_id, packed.name, len(packed.data), packed.text_bytes, packed.digest)
            for number, session_id, packed in segments
        ],
    )
