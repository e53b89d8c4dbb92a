"""One sweep at a time: a lock the operating system drops when its holder dies, however it dies."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Generator

from session_memory.errors import StoreLocked

if os.name == "nt":
    import msvcrt

    def _take(descriptor: int) -> None:
        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]
else:
    import fcntl

    def _take(descriptor: int) -> None:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)


@contextlib.contextmanager
def exclusive(path: str, what: str) -> Generator[None]:
    """Hold the lock file `path` for the length of the block, or raise StoreLocked at once."""
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        try:
            _take(descriptor)
        except OSError:
            raise StoreLocked(f"{what} is already running") from None
        yield
    finally:
        os.close(descriptor)
