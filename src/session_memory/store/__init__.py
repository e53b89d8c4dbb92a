"""Where captured sessions live. Everything outside this package opens a store here.

`port` says what a store can do, for each kind of caller. `sqlite` is the one implementation: no
module outside this package imports it, so that a second one can stand behind the same functions.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from session_memory.store.port import Store

_DATABASE = "store.db"


def open_store(
    directory: str, now_ms: int, *, create_missing: bool = False, read_only: bool = False
) -> Store:
    """Open the store in a directory; one that may be written is brought up to date first.

    Raises StoreMissing where there is none, unless `create_missing` is set. A store opened with
    `read_only` refuses every write, and is read in the schema it has.
    """
    from session_memory.store.sqlite.store import open_store

    return open_store(directory, now_ms, create_missing=create_missing, read_only=read_only)


def store_exists(directory: str | os.PathLike[str]) -> bool:
    """Whether a store was made in this directory; it may be damaged."""
    return os.path.exists(os.path.join(directory, _DATABASE))


def store_identity(directory: str | os.PathLike[str]) -> tuple[int, int]:
    """Changes when the store in a directory is replaced by another, as `store restore` does."""
    try:
        info = os.stat(os.path.join(directory, _DATABASE))
    except OSError:
        return (0, 0)
    return (info.st_dev, info.st_ino)


def schema_version() -> int:
    """The newest schema that this program reads and writes."""
    from session_memory.store.sqlite.connection import SCHEMA_VERSION

    return SCHEMA_VERSION


def database_version() -> str:
    """The version of the database library."""
    import apsw

    return apsw.sqlite_lib_version()
