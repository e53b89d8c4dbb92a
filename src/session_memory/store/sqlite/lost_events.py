"""Events whose raw text was dropped before it was distilled, until a log gives them again."""

from __future__ import annotations

from collections.abc import Iterable

from session_memory.store.sqlite.connection import Database, for_each, rows, value
from session_memory.store.values import Undistilled

_UNDISTILLED = """
SELECT s.id, s.external_id,
  (SELECT count(*) FROM evicted_event WHERE session_id = s.id AND lost = 1) AS lost
FROM session s WHERE s.state != 'captured' AND (lost > 0
  OR s.event_count > 0 AND NOT EXISTS (SELECT 1 FROM digest WHERE session_id = s.id))
ORDER BY s.external_id
"""


def read_again(db: Database, session_id: int) -> None:
    """Let the next sweep read every log of a session from its start."""
    db.execute(
        "UPDATE source SET size = -1, read_to = 0 WHERE id IN"
        " (SELECT source_id FROM session_source WHERE session_id = ?)",
        (session_id,),
    )


def sessions(db: Database) -> int:
    """How many sessions have lost events."""
    return int(value(db, "SELECT count(DISTINCT session_id) FROM evicted_event WHERE lost = 1"))


def unmark_restored(db: Database, sessions: Iterable[int]) -> None:
    """Events that are stored again are no longer lost, and are counted once."""
    sql = "SELECT session_id FROM evicted_event WHERE session_id = ? AND lost = 1 LIMIT 1"
    for (session_id,) in for_each(db, sql, sessions):
        selected = rows(
            db,
            "DELETE FROM evicted_event WHERE session_id = ?1 AND lost = 1 AND EXISTS (SELECT 1"
            " FROM event e WHERE e.fingerprint = evicted_event.fingerprint AND e.id >> 24 = ?1)"
            " RETURNING 1",
            (session_id,),
        )
        _uncount(db, session_id, len(selected))


def drop_unknown(db: Database, source_id: int) -> None:
    """A new parser has read a whole log: what was lost is back under other fingerprints."""
    dropped = rows(
        db,
        "DELETE FROM evicted_event WHERE lost = 1 AND session_id IN"
        " (SELECT session_id FROM session_source WHERE source_id = ?) RETURNING session_id",
        (source_id,),
    )
    for (session_id,) in dropped:
        _uncount(db, session_id, 1)


def undistilled(db: Database) -> list[Undistilled]:
    """Sessions that no digest stands for, whole or in part, and that do not wait for one."""
    return [
        Undistilled(external_id, lost, _paths(db, session_id))
        for session_id, external_id, lost in rows(db, _UNDISTILLED)
    ]


def _paths(db: Database, session_id: int) -> tuple[str, ...]:
    selected = rows(
        db,
        "SELECT path FROM source WHERE id IN"
        " (SELECT source_id FROM session_source WHERE session_id = ?) ORDER BY path",
        (session_id,),
    )
    return tuple(row[0] for row in selected)


def _uncount(db: Database, session_id: int, events: int) -> None:
    if events:
        db.execute(
            "UPDATE session SET event_count = event_count - ? WHERE id = ?", (events, session_id)
        )
