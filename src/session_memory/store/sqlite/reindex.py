"""Events that an older version indexed with fewer words, brought up to date a few sessions a sweep.

`index_due` in `meta` holds the number of the last session that is done; it goes with the last one.
"""

from __future__ import annotations

from session_memory.store.segments import SegmentReader, SegmentStore
from session_memory.store.sqlite import queries
from session_memory.store.sqlite.connection import Database, rows, transaction, value
from session_memory.store.sqlite.rewrite import index_again

SESSIONS = 200
"""Done in one sweep: a large store must not keep a sweep for minutes."""


def continue_indexing(db: Database, segments: SegmentStore) -> int:
    """Index the next sessions again; returns how many."""
    done = value(db, "SELECT CAST(value AS INTEGER) FROM meta WHERE name = 'index_due'")
    if done is None:
        return 0
    waiting = rows(
        db,
        f"SELECT id FROM session WHERE id > ? AND raw_events > 0 ORDER BY id LIMIT {SESSIONS}",
        (done,),
    )
    reader = SegmentReader(segments)
    for (session_id,) in waiting:
        with transaction(db):
            events = [
                event
                for old in (False, True)
                for event in queries.events(db, session_id, reader, superseded=old)
            ]
            size = index_again(db, session_id, events)
            db.execute("UPDATE session SET index_bytes = ? WHERE id = ?", (size, session_id))
            mark = str(session_id).encode()
            db.execute("UPDATE meta SET value = ? WHERE name = 'index_due'", (mark,))
    if len(waiting) < SESSIONS:
        with transaction(db):
            db.execute("DELETE FROM meta WHERE name = 'index_due'")
    return len(waiting)
