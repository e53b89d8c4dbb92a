"""Whether the database holds all forget marks of the file next to it: every sweep checks this."""

from __future__ import annotations

from session_memory.store.marks import checksum_in
from session_memory.store.sqlite.connection import Database, transaction, value

_SEEN = "marks_file"
"""Row of `meta`: the checksum of the file whose marks are all in this database."""


def is_current(db: Database, directory: str) -> bool:
    """Whether the file is there and the database holds all its marks; reads one line of it."""
    checksum = checksum_in(directory)
    seen = value(db, "SELECT value FROM meta WHERE name = ?", (_SEEN,))
    return checksum is not None and seen is not None and bytes(seen).decode() == checksum


def note_current(db: Database, checksum: str) -> None:
    """Remember that the marks of the file with this checksum are in the database."""
    with transaction(db):
        db.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (_SEEN, checksum.encode()))
