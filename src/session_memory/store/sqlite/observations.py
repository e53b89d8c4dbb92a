"""Observations: replaced whole when a session is read again, kept when its raw text goes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from session_memory.core.schema import EXCLUDED_STATUSES, Observation
from session_memory.core.text.searchable import searchable
from session_memory.store.port import Finding, ObservationQuery
from session_memory.store.sqlite.connection import Database, for_each, insert_rows, rows, value

INDEXED_ROWS = {
    "event_text": "SELECT id FROM event WHERE indexed >= 1",
    "turn_text": "SELECT id FROM event WHERE indexed >= 2",
    "observation_text": "SELECT id FROM observation",
}
"""Every full-text index, and the rows that must have an entry in it."""
ROW_BYTES = 160
"""What a row costs besides its text: hash, type, status, numbers and its entries in two indexes."""

_COLUMNS = (
    "o.type, o.status, o.text, o.importance, o.session_id, o.event_id, o.origin, o.hash, o.at,"
    " o.source"
)
_INSERT = """
INSERT INTO observation (type, status, text, importance, session_id, event_id, origin, hash, at,
  source)
"""
# What was said again after an eviction is the same observation, only newer.
_OR_RENEW = """
ON CONFLICT (session_id, hash) DO UPDATE SET status = excluded.status, text = excluded.text,
  importance = excluded.importance, event_id = excluded.event_id, origin = excluded.origin,
  at = excluded.at
WHERE source = 'turn_extract'
"""
_DROP = "DELETE FROM observation WHERE session_id = ? AND evicted = 0 AND source = 'turn_extract'"
_ANY = "SELECT session_id FROM observation WHERE session_id = ? LIMIT 1"
_EXCLUDED = ", ".join(f"'{status}'" for status in sorted(EXCLUDED_STATUSES))


def save(db: Database, observed: Mapping[int, Iterable[Observation]]) -> None:
    """Replace what was observed of raw text, by session; notes and what outlived its text stay.

    Their entries in the index are for `index` to make, of many sessions at once: each savepoint
    makes SQLite write out what an index has gathered.
    """
    db.executemany(_DROP, for_each(db, _ANY, observed))
    made = [
        (
            observation.type,
            observation.status,
            observation.text,
            observation.importance,
            session_id,
            observation.event,
            observation.origin,
            observation.hash,
            observation.at,
            observation.source,
        )
        for session_id, observations in observed.items()
        for observation in observations
    ]
    insert_rows(db, _INSERT, made, _OR_RENEW)
    _count_bytes(db, observed)
    from session_memory.store.sqlite.closures import note_mismatches  # not needed by most sweeps

    note_mismatches(db, observed)


def _count_bytes(db: Database, sessions: Iterable[int]) -> None:
    db.executemany(
        "UPDATE session SET observed_bytes = (SELECT coalesce(sum(length(CAST(text AS BLOB)) + ?2),"
        " 0) FROM observation WHERE session_id = ?1) WHERE id = ?1",
        [(session_id, ROW_BYTES) for session_id in sessions],
    )


def drop_made(db: Database, sessions: Iterable[int]) -> None:
    """Drop what was read from raw text of sessions that will be read again.

    Their words would otherwise leave the index only after its traces were erased.
    """
    for session_id in sessions:
        db.execute(_DROP, (session_id,))
        _count_bytes(db, [session_id])


def index(db: Database, sessions: Iterable[int] | None = None) -> None:
    """Make the entries that are missing in the index, of these sessions or of all."""
    of_sessions = "" if sessions is None else " AND session_id IN (SELECT value FROM json_each(?))"
    missing = rows(
        db,
        "SELECT id, text FROM observation WHERE id NOT IN (SELECT id FROM observation_text_docsize)"
        + of_sessions
        # FTS5 writes out what it has gathered whenever a row comes before the last one.
        + " ORDER BY id",
        () if sessions is None else (msgspec.json.encode(sorted(sessions)).decode(),),
    )
    db.executemany(
        "INSERT INTO observation_text (rowid, body) VALUES (?, ?)",
        [(number, searchable(text)) for number, text in missing],
    )


def outlive(db: Database, session_id: int) -> None:
    """Keep a session's observations for good: its raw text is about to go."""
    db.execute("UPDATE observation SET evicted = 1 WHERE session_id = ?", (session_id,))


def observations(db: Database, query: ObservationQuery) -> list[Observation]:
    """Those that fit, in order of time; the latest of them where there is a limit."""
    where, bindings = _conditions(query)
    sql = (
        f"SELECT {_COLUMNS} FROM observation o JOIN session s ON s.id = o.session_id"
        f" LEFT JOIN project ON project.id = s.project_id {where}"
        " ORDER BY o.at IS NOT NULL DESC, o.at DESC, o.id DESC"
    )
    if query.limit is not None:
        sql += f" LIMIT {int(query.limit)}"
    return [Observation(*row) for row in reversed(rows(db, sql, bindings))]


def _conditions(query: ObservationQuery) -> tuple[str, list[Any]]:
    parts = ["1"] if query.excluded else [f"o.status NOT IN ({_EXCLUDED})"]
    bindings: list[Any] = []
    for condition, wanted in (
        ("o.session_id = ?", query.session),
        ("project.key = ?", query.project),
        ("s.flavor = ?", query.flavor),
        ("o.at >= ?", query.since),
        ("o.at < ?", query.until),
    ):
        if wanted is not None:
            parts.append(condition)
            bindings.append(wanted)
    if query.types:
        parts.append("o.type IN (SELECT value FROM json_each(?))")
        bindings.append(msgspec.json.encode(query.types).decode())
    if query.read_from is not None and query.read_from.of_events:
        from session_memory.store.sqlite.search import event_condition  # few ask for that

        text, values = event_condition(query.read_from)
        parts.append(f"EXISTS (SELECT 1 FROM event e WHERE e.id = o.event_id AND {text})")
        bindings.extend(values)
    if query.holding:
        parts.append("(" + " OR ".join(["instr(lower(o.text), ?)"] * len(query.holding)) + ")")
        bindings.extend(word.lower() for word in query.holding)
    return "WHERE " + " AND ".join(parts), bindings


_CHECKS = {
    "observation_of_another_session": "SELECT count(*) FROM observation"
    " WHERE event_id IS NOT NULL AND event_id >> 24 != session_id",
    "observation_past_its_session": "SELECT count(*) FROM observation o"
    " JOIN session s ON s.id = o.session_id WHERE (o.event_id & 16777215) >= s.next_seq",
    "wrong_observation_bytes": "SELECT count(*) FROM session s WHERE s.observed_bytes !="
    " (SELECT coalesce(sum(length(CAST(o.text AS BLOB)) + {row}), 0) FROM observation o"
    " WHERE o.session_id = s.id)",
}


def check(db: Database) -> list[Finding]:
    """What is wrong with the observations; types and statuses are checked by the schema."""
    findings: list[Finding] = []
    for name, sql in _CHECKS.items():
        count = value(db, sql.replace("{row}", str(ROW_BYTES)))
        if count:
            findings.append(Finding(name, f"{count} found"))
    return findings
