"""Errors of the database library that left the store unchanged, as errors of ours.

They are recognised by name, because a caller need not have loaded that library.
"""

from __future__ import annotations

from session_memory.errors import DISK_HINT, DatabaseDamaged, StoreError

_DAMAGE = ("CorruptError", "NotADBError")
_DISK = ("FullError", "IOError", "ReadOnlyError", "CantOpenError")


def as_damage(error: BaseException) -> DatabaseDamaged | None:
    """The error that says the database is damaged; None for any other error."""
    if isinstance(error, DatabaseDamaged):
        return error
    if _name(error) in _DAMAGE:
        return DatabaseDamaged(f"the database is damaged: {error}")
    return None


def as_store_error(error: BaseException) -> StoreError | None:
    """The error that says the database is damaged or its disk fails; None for any other error."""
    if _name(error) in _DISK:
        return StoreError(f"the database cannot be used: {error}", hint=DISK_HINT)
    return as_damage(error)


def _name(error: BaseException) -> str | None:
    kind = type(error)
    return kind.__name__ if kind.__module__ == "apsw" else None
