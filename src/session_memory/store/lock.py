"""One sweep at a time: a lock the operating system drops when its holder dies, however it dies."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Generator

from session_memory.errors import StoreLocked

if os.name == "nt":
    import msvcrt

    def _take(descriptor: int, *, wait: bool) -> None:
        how = msvcrt.LK_LOCK if wait else msvcrt.LK_NBLCK  # type: ignore[attr-defined]
        msvcrt.locking(descriptor, how, 1)  # type: ignore[attr-defined]
else:
    import fcntl

    def _take(descriptor: int, *, wait: bool) -> None:
        fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))


def _open(path: str) -> int:
    if os.path.isdir(path):
        if os.name != "nt":
            return os.open(path, os.O_RDONLY)  # a directory can be locked without a file in it
        path = os.path.join(path, "open.lock")
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    return os.open(path, os.O_RDWR | os.O_CREAT, 0o600)


@contextlib.contextmanager
def exclusive(path: str, what: str, *, wait: bool = False) -> Generator[None]:
    """Hold the lock file, or directory, `path` for the length of the block.

    When another holds it: raise StoreLocked at once, or wait for a short piece of work to end.
    """
    descriptor = _open(path)
    try:
        try:
            _take(descriptor, wait=wait)
        except OSError:
            raise StoreLocked(f"{what} is already running") from None
        yield
    finally:
        os.close(descriptor)
