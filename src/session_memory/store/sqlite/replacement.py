"""A fresh database in the place of a damaged one: the same keys, and nothing forgotten comes back.

Events are known by fingerprints made with the store's key, and so is what the user forgot. A new
store with another key would take in again what was forgotten, and could not be joined later.
"""

from __future__ import annotations

import contextlib
import os

from session_memory.atomic_files import flush_directory
from session_memory.errors import DatabaseDamaged
from session_memory.store.damage import DATABASE, LOG_SUFFIXES, Damage
from session_memory.store.marks import read_marks
from session_memory.store.sqlite import salvage
from session_memory.store.sqlite.connection import (
    Database,
    Row,
    connect,
    create,
    migrate,
    transaction,
)

KEYS = ("fingerprint_key", "tag_key")
MARKS = ("tombstone", "forgotten_session", "forgotten_source")
"""What is known of forgotten things, each by its keyed hash."""


def make_replacement(directory: str, damage: Damage, now_ms: int) -> None:
    """Make the database under another name and put it in place only when it is complete."""
    path = os.path.join(directory, DATABASE)
    new = path + ".new"
    remove_database(new)
    create(new)
    db = connect(new)
    try:
        migrate(db, now_ms)
        if not carry_over(db, directory, damage):
            raise DatabaseDamaged(
                "the record of what was forgotten is lost with the database:"
                " reading the logs again could bring it back",
                hint="run `session-memory store repair`: it asks before it reads them",
            )
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        db.close()
        os.rename(new, path)
        flush_directory(directory)
    finally:
        db.close()
        remove_database(new)


def remove_database(path: str) -> None:
    """Delete a database with its log, as far as they are there."""
    for suffix in ("", *LOG_SUFFIXES):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path + suffix)


def carry_over(db: Database, directory: str, damage: Damage) -> bool:
    """Take keys and forget marks from what was kept; returns whether all of them were there.

    The marks of the file next to the store are applied by whoever opens the store next.
    """
    keys: dict[str, bytes] = {}
    file = read_marks(directory)
    has_marks = file is not None and file.keys is not None
    if file is not None and file.keys is not None:
        keys = dict(zip(KEYS, (file.keys.fingerprint, file.keys.tag), strict=True))

    def key(row: Row) -> None:
        name, key_value = row
        if name in KEYS and isinstance(key_value, bytes):
            keys.setdefault(name, key_value)

    tables = salvage.tables_of(db)
    with transaction(db):
        for name in reversed(damage.files):  # the newest has seen every forgetting before it
            with salvage.opened(os.path.join(directory, name)) as old:
                if old is None:
                    continue
                salvage.read_table(old, tables["meta"], ("name", "value"), key)
                whole = [_copy(old, db, tables[table]) for table in MARKS]
                has_marks = has_marks or all(whole)
        for name, key_value in keys.items():
            db.execute("UPDATE meta SET value = ? WHERE name = ?", (key_value, name))
    return has_marks and len(keys) == len(KEYS)


def _copy(old: Database, db: Database, table: salvage.Table) -> bool:
    marks = ", ".join("?" * len(table.columns))
    insert = f'INSERT OR REPLACE INTO "{table.name}" VALUES ({marks})'
    return salvage.read_table(old, table, table.columns, lambda row: db.execute(insert, row))
