"""Makes the n-th file operation or the n-th call of a store fail, as a full or dying disk would."""

from __future__ import annotations

import contextlib
import errno
import os
import threading
from collections.abc import Generator
from typing import Any

from session_memory.store import segments

OPERATIONS = ("open", "write", "fsync", "replace", "unlink")
"""What the file layer does to a disk."""


class Stopped(BaseException):
    """Stands for the death of the process: no handler for errors may stop it."""


class CountingOs:
    """The `os` module with a counter, and a failure at one operation or from it on."""

    def __init__(self, nth: int, code: int = errno.ENOSPC, *, stays: bool = False) -> None:
        self.nth = nth
        self.code = code
        self.stays = stays
        self.done = 0
        self.failed = False
        self._lock = threading.Lock()  # segments are written by several threads

    def __getattr__(self, name: str) -> Any:
        real = getattr(os, name)
        if name not in OPERATIONS:
            return real

        def call(*arguments: Any, **options: Any) -> Any:
            with self._lock:
                self.done += 1
                fails = self.done == self.nth or (self.stays and self.done > self.nth)
                self.failed |= fails
            if fails:
                raise OSError(self.code, os.strerror(self.code))
            return real(*arguments, **options)

        return call


@contextlib.contextmanager
def failing_files(
    nth: int, code: int = errno.ENOSPC, *, stays: bool = False
) -> Generator[CountingOs]:
    """Within the block the n-th operation of the segment files fails, and all later ones if asked.

    `failed` of what this yields tells whether so many operations took place at all.
    """
    faulty = CountingOs(nth, code, stays=stays)
    real = segments.os
    segments.os = faulty  # type: ignore[assignment]
    try:
        yield faulty
    finally:
        segments.os = real


class StoppingStore:
    """A store in front of which the process dies before the n-th call of one method.

    Methods of its writer count too, by their own names.
    """

    def __init__(self, store: Any, method: str, nth: int = 1) -> None:
        self._store = store
        self._method = method
        self._left = nth

    def __getattr__(self, name: str) -> Any:
        return self._guard(name, getattr(self._store, name))

    @contextlib.contextmanager
    def writing(self) -> Generator[Any]:
        """The store's own transaction, with its writer guarded."""
        with self._store.writing() as writer:
            yield _Guarded(writer, self._guard)

    def _guard(self, name: str, real: Any) -> Any:
        if name != self._method:
            return real

        def call(*arguments: Any, **options: Any) -> Any:
            self._left -= 1
            if self._left == 0:
                raise Stopped(name)
            return real(*arguments, **options)

        return call


class _Guarded:
    def __init__(self, target: Any, guard: Any) -> None:
        self._target = target
        self._guard = guard

    def __getattr__(self, name: str) -> Any:
        return self._guard(name, getattr(self._target, name))
