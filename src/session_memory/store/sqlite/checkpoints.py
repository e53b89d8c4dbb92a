"""Where distilling stood; triggers of the schema drop what no longer holds."""

from __future__ import annotations

from session_memory.errors import StoreDamaged
from session_memory.store.segments import compress, decompress
from session_memory.store.sqlite.connection import Database, value
from session_memory.store.sqlite.ids import SEQ_BITS, event_range
from session_memory.store.values import Checkpoint

MOST = 64
"""Sessions that are kept ready to grow; few do at the same time."""

_BEFORE = """
SELECT 1 FROM event last JOIN source l ON l.id = last.source_id, event e
  JOIN source s ON s.id = e.source_id
WHERE last.id = ? AND e.id BETWEEN ? AND ? AND e.superseded = 0
  AND (s.path, e.pos, e.id) < (l.path, last.pos, last.id) LIMIT 1
"""


def save(db: Database, session_id: int, checkpoint: Checkpoint) -> None:
    """Replace the one before, and delete the oldest if there are too many."""
    db.execute(
        "INSERT OR REPLACE INTO checkpoint SELECT id, ?, ?, ?, ended_at, ? FROM session"
        " WHERE id = ?",
        (
            checkpoint.made_for,
            checkpoint.next_seq,
            checkpoint.last_event,
            compress(checkpoint.body),
            session_id,
        ),
    )
    if int(value(db, "SELECT count(*) FROM checkpoint")) > MOST:
        db.execute(
            "DELETE FROM checkpoint WHERE session_id ="
            " (SELECT session_id FROM checkpoint ORDER BY at, session_id LIMIT 1)"
        )


def load(db: Database, session_id: int) -> Checkpoint | None:
    """The session's, unless one of the events that came since belongs before its end."""
    row = db.execute(
        "SELECT made_for, next_seq, last_event, body FROM checkpoint WHERE session_id = ?",
        (session_id,),
    ).fetchone()
    if row is None:
        return None
    made_for, next_seq, last_event, body = row
    fresh = ((session_id << SEQ_BITS) + next_seq, event_range(session_id)[1])
    if value(db, _BEFORE, (last_event, *fresh)) is not None:
        return None
    try:
        return Checkpoint(made_for, next_seq, last_event, decompress(body))
    except StoreDamaged:
        return None


def drop_all(db: Database) -> None:
    """Delete all: words were replaced, and any of them may hold some."""
    db.execute("DELETE FROM checkpoint")
