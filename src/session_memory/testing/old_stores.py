"""Stores as earlier versions left them, made from one of today by taking back what came later."""

from __future__ import annotations

from pathlib import Path

from session_memory.store.sqlite.connection import connect

_AFTER_22 = (
    "DELETE FROM schema_migration WHERE version > 22",
    "PRAGMA user_version = 22",
)
_AFTER_21 = (
    "ALTER TABLE session DROP COLUMN place",
    "DELETE FROM schema_migration WHERE version > 21",
    "PRAGMA user_version = 21",
)
_AFTER_20 = (
    *_AFTER_21,
    "DROP TRIGGER usage_sum_added",
    "DROP TRIGGER usage_sum_changed",
    "DROP TRIGGER usage_sum_gone",
    "DROP TABLE usage_sum",
    "DELETE FROM schema_migration WHERE version > 20",
    "PRAGMA user_version = 20",
)
_AFTER_11 = (
    *_AFTER_20,
    "DROP TRIGGER checkpoint_source_renamed",
    "DROP TRIGGER checkpoint_event_gone",
    "DROP TRIGGER checkpoint_event_changed",
    "DROP TABLE checkpoint",
    "DROP INDEX usage_figures",
    "DROP INDEX digest_figures",
    "DROP TABLE event_word",
    "DROP TRIGGER observation_gone",
    "DROP TRIGGER observation_changed",
    "DROP TABLE observation_text",
    "ALTER TABLE project DROP COLUMN found_key",
    "DROP INDEX session_found_project",
    "ALTER TABLE session DROP COLUMN found_project_id",
    "DROP TABLE project_merge",
    "ALTER TABLE usage DROP COLUMN mode",
    "DROP INDEX fact_missing_part",
    "DROP INDEX evicted_event_lost",
    "ALTER TABLE evicted_event DROP COLUMN lost",
    "DELETE FROM schema_migration WHERE version > 11",
    "PRAGMA user_version = 11",
)
_AFTER_10 = (
    *_AFTER_11,
    "ALTER TABLE session DROP COLUMN raw_captured_at",
    "DELETE FROM schema_migration WHERE version > 10",
    "PRAGMA user_version = 10",
)
_AFTER_1 = (
    *_AFTER_10,
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
    _run(directory, _AFTER_1)


def back_to_version_10(directory: Path) -> None:
    """Before the time of a capture was noted."""
    _run(directory, _AFTER_10)


def back_to_version_11(directory: Path) -> None:
    """Before lost events were separated from evicted ones."""
    _run(directory, _AFTER_11)


def back_to_version_20(directory: Path) -> None:
    """Before sums of responses were kept."""
    _run(directory, _AFTER_20)


def back_to_version_21(directory: Path) -> None:
    """Before the place of a session was noted; its entries keep the word for it."""
    _run(directory, _AFTER_21)


def back_to_version_22(directory: Path) -> None:
    """Before a session could no longer be its own parent."""
    _run(directory, _AFTER_22)


def _run(directory: Path, statements: tuple[str, ...]) -> None:
    connection = connect(str(directory / "store.db"))
    for statement in statements:
        connection.execute(statement)
    connection.close()
