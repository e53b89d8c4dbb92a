"""Counts and sizes of a store."""

from __future__ import annotations

import contextlib
import os

from session_memory.store.damage import DATABASE
from session_memory.store.sqlite import checksums, lost_events, retention
from session_memory.store.sqlite.connection import Database, rows, schema_version, value
from session_memory.store.values import StoreInfo


def store_info(db: Database, directory: str) -> StoreInfo:
    """See store.upkeep.MaintenanceStore.info."""
    segment_bytes, text_bytes = db.execute(
        "SELECT coalesce(sum(bytes), 0), coalesce(sum(text_bytes), 0) FROM segment"
    ).fetchone()
    # By +flavor: following the index that begins with it is four times as slow.
    flavors = rows(
        db,
        "SELECT flavor, count(*), sum(event_count) FROM session WHERE event_count > 0"
        " GROUP BY +flavor ORDER BY flavor",
    )
    superseded = "SELECT count(*) FROM event WHERE superseded = 1"
    return StoreInfo(
        schema_version=schema_version(db),
        path=directory,
        sessions=sum(count for _, count, _ in flavors),
        events=sum(events for _, _, events in flavors),
        projects=value(db, "SELECT count(DISTINCT project_id) FROM session WHERE event_count > 0"),
        sources=value(db, "SELECT count(*) FROM source"),
        unanalyzed=value(db, "SELECT count(*) FROM session WHERE state = 'captured'"),
        database_bytes=_database_bytes(directory),
        segment_bytes=segment_bytes,
        text_bytes=text_bytes,
        per_flavor={flavor: count for flavor, count, _ in flavors},
        last_event_at=value(db, "SELECT max(ended_at) FROM session"),
        superseded_events=value(db, superseded),
        evicted=retention.evicted(db),
        lost_sessions=lost_events.sessions(db),
        page_checksums=checksums.has_checksums(db),
    )


def _database_bytes(directory: str) -> int:
    path = os.path.join(directory, DATABASE)
    total = 0
    for suffix in ("", "-wal"):
        with contextlib.suppress(FileNotFoundError):
            total += os.path.getsize(path + suffix)
    return total
