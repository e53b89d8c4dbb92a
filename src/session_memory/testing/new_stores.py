"""New stores for tests, as copies of an empty one: making one takes five times as long.

Only where a test asks for it: what is killed, or loses its power, makes its store as users do.
"""

from __future__ import annotations

import os
import tempfile
from functools import cache
from pathlib import Path

from session_memory.atomic_files import make_directory
from session_memory.store.damage import DATABASE
from session_memory.store.marks import random_keys
from session_memory.store.sqlite import SqliteStore, checksums, connection, open_store
from session_memory.testing.faults import is_disk_faulty

copies = False
"""Whether this process may copy; `tests/conftest.py` says so for most tests."""
_LOCKS = {"sweep.lock"}
"""What a sweep has made in its directory before it opens the store."""


def open_or_create(directory: str, now_ms: int) -> SqliteStore:
    """Open the store in a directory; where nothing is yet, begin with a copy of an empty store.

    Tests cannot influence each other through it: what is shared are bytes in memory, each copy has
    random keys of its own, and all else in an empty store is the same every time but for `now_ms`.
    On a faulty disk, or where something of an earlier store is left, the program makes its own.
    """
    if copies and not is_disk_faulty() and _is_empty(directory):
        _copy_empty(directory, now_ms)
    return open_store(directory, now_ms, create_missing=True)


def _is_empty(directory: str) -> bool:
    if os.path.islink(directory) or not os.path.isdir(directory):
        return not os.path.lexists(directory)
    return set(os.listdir(directory)) <= _LOCKS


def _copy_empty(directory: str, now_ms: int) -> None:
    make_directory(directory)
    path = os.path.join(directory, DATABASE)
    with open(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "wb") as file:
        file.write(_empty_database(checksums.load(), connection.SCHEMA_VERSION))
    database = connection.connect(path)
    keys = random_keys()
    with connection.transaction(database):
        for name, key in (("fingerprint_key", keys.fingerprint), ("tag_key", keys.tag)):
            database.execute("UPDATE meta SET value = ? WHERE name = ?", (key, name))
        database.execute("UPDATE schema_migration SET at = ?", (now_ms,))
    database.close()


@cache
def _empty_database(_has_checksums: bool, _schema: int) -> bytes:
    """Made once for each kind of store: tests replace what decides the kind."""
    with tempfile.TemporaryDirectory() as directory:
        open_store(directory, 0, create_missing=True).close()
        return Path(directory, DATABASE).read_bytes()
