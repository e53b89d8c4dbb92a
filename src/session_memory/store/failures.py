"""Turns errors of the database library that left the store unchanged into our own.

They are recognised by name, because a caller need not have loaded that library.
"""

from __future__ import annotations

from session_memory.errors import DISK_HINT, DatabaseDamaged, StoreError

_DAMAGE = ("CorruptError", "NotADBError")
_DISK = ("FullError", "IOError", "ReadOnlyError", "CantOpenError")


_WRONG_CHECKSUM = 10 | 32 << 8
"""SQLite's extended code for a page that changed since it was written; the plain code means a
disk error."""


def is_damage(error: object) -> bool:
    """Whether an error of the database library says that the file is not what was written."""
    return _name(error) in _DAMAGE or _is_wrong_checksum(error)


def describe(error: object) -> str:
    """What is wrong with a file; of a wrong checksum SQLite says only that the disk failed."""
    return "a page does not match its checksum" if _is_wrong_checksum(error) else str(error)


def _is_wrong_checksum(error: object) -> bool:
    return getattr(error, "extendedresult", 0) == _WRONG_CHECKSUM


def as_damage(error: BaseException) -> DatabaseDamaged | None:
    """The error that says the database is damaged; None for any other error."""
    if isinstance(error, DatabaseDamaged):
        return error
    if is_damage(error):
        return DatabaseDamaged(f"the database is damaged: {describe(error)}")
    return None


def as_store_error(error: BaseException) -> StoreError | None:
    """The error that says the database is damaged or its disk fails; None for any other error."""
    damage = as_damage(error)
    if damage is None and _name(error) in _DISK:
        return StoreError(f"the database cannot be used: {error}", hint=DISK_HINT)
    return damage


def _name(error: object) -> str | None:
    kind = type(error)
    return kind.__name__ if kind.__module__ == "apsw" else None
