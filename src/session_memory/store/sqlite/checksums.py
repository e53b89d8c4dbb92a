"""Page checksums: a byte of the database that changed by itself is found when read, never served.

SQLite's own checksum layer does it: the last eight bytes of each page hold a checksum, which is
made when the page is written and compared when it is read. apsw brings the layer along as an
extension. It acts on databases that reserve those bytes, and leaves all others as they are.

A program without the layer would change pages and not their checksums, so that they look damaged:
older versions of ours refuse the newer schema, and `connect` refuses where the layer is missing.
"""

from __future__ import annotations

import functools
import os
import struct
from typing import TYPE_CHECKING, cast

import apsw

if TYPE_CHECKING:
    from session_memory.store.sqlite.connection import Database

RESERVED = 8
"""Bytes at the end of each page; the layer acts on this number alone."""
APPLICATION_ID = 0x534D434B
"""In the header of a database with checksums: one that says so and reserves nothing is damaged."""
LAYER = "cksmvfs"
_RESERVED_AT, _APPLICATION_AT, HEAD_BYTES = 20, 68, 72


@functools.cache
def load() -> bool:
    """Put the layer under every connection that is opened from now on; False where it is absent."""
    return put_on_top()


def put_on_top() -> bool:
    """Let the layer use what is now SQLite's way to the disk; False where it is absent."""
    path = _extension()
    if path is None:
        return False
    if apsw.vfs_names()[0] != LAYER:  # below itself it would never come to a disk
        if LAYER in apsw.vfs_names():  # it keeps to what it found when it was registered
            apsw.unregister_vfs(LAYER)
        loader = apsw.Connection(":memory:")
        try:
            loader.enable_load_extension(True)
            loader.load_extension(path)
        except (apsw.ExtensionLoadingError, AttributeError):  # built without extensions
            return False
        finally:
            loader.close()
    return True


def _extension() -> str | None:
    """Where the layer is; asking apsw itself would cost every command 8 ms."""
    folder = os.path.join(os.path.dirname(apsw.__file__), "sqlite_extra_binaries")
    for end in (".so", ".dylib", ".dll"):
        path = os.path.join(folder, "cksumvfs" + end)
        if os.path.exists(path):
            return path
    return None


def has_checksums(db: Database) -> bool:
    """Whether an open database has checksums."""
    return cast("apsw.Connection", db).reserve_bytes("main") == RESERVED


def reserve(db: Database) -> bool:
    """Let the next VACUUM give checksums to all pages; False where nothing changes."""
    if not load() or has_checksums(db):
        return False
    cast("apsw.Connection", db).reserve_bytes("main", RESERVED)
    return True


def vacuum(db: Database) -> None:
    """Rewrite every page, from now on with a checksum."""
    added = reserve(db)
    db.execute("VACUUM").fetchall()
    if added:  # after: a header that says so without a place for checksums counts as damaged
        db.pragma("application_id", APPLICATION_ID)


def fit(page: bytes) -> bool:
    """Whether a page that is not empty ends with its checksum."""
    if not (load() and any(page)):
        return False
    db = cast("Database", apsw.Connection(":memory:"))
    try:
        return db.execute("SELECT verify_checksum(?)", (page,)).fetchone() == (1,)
    finally:
        db.close()


def are_in(head: bytes) -> bool:
    """Whether pages have checksums, by the first bytes of a database."""
    return len(head) >= HEAD_BYTES and head[_RESERVED_AT] == RESERVED


def lost_in(head: bytes) -> bool:
    """Whether a header says that there are checksums and reserves no place for them."""
    if len(head) < HEAD_BYTES:
        return False
    (application,) = struct.unpack_from(">I", head, _APPLICATION_AT)
    return application == APPLICATION_ID and not are_in(head)
