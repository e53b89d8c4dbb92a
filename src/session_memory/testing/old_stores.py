"""Stores as earlier versions left them, made from one of today by taking back what came later."""

from __future__ import annotations

from pathlib import Path

from session_memory.store.sqlite.connection import connect

_LATER = (
    "ALTER TABLE session DROP COLUMN raw_captured_at",
    "DROP INDEX event_superseded",
    "DROP TABLE context_sync",
    "DROP TABLE closure_check",
    "DROP TABLE memory_consolidation_locks",
    "DROP TABLE trace",
    "DROP TABLE spend",
    "DROP TABLE effect",
    "DROP TABLE quarantine",
    "DROP TRIGGER digest_changed",
    "DROP TABLE mined",
    "DROP TABLE pattern",
    "DROP TABLE injection",
    "DROP TABLE session_note",
    "DROP TABLE turn",
    "DROP TABLE job",
    "DROP INDEX session_observer",
    "DROP TABLE observation",
    "ALTER TABLE session DROP COLUMN observer",
    "ALTER TABLE session DROP COLUMN observed_bytes",
    "DELETE FROM schema_migration WHERE version > 1",
    "PRAGMA user_version = 1",
)


def back_to_version_1(directory: Path) -> None:
    """Take a closed store back to the schema of its first version, content kept."""
    connection = connect(str(directory / "store.db"))
    for statement in _LATER:
        connection.execute(statement)
    connection.close()
