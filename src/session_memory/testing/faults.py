"""Makes the n-th file operation or the n-th call of a store fail, as a full or dying disk would."""

from __future__ import annotations

import contextlib
import errno
import gc
import itertools
import os
import signal
import sys
import threading
from collections.abc import Generator
from typing import Any

import apsw
import msgspec

from session_memory import atomic_files
from session_memory.store import backups, lock, segments, swap, unfinished
from session_memory.store.sqlite import backup, checksums

OPERATIONS = ("open", "write", "fsync", "replace", "unlink")
"""What the file layer does to a disk."""


class Stopped(BaseException):
    """Stands for the death of the process: no handler for errors may stop it."""


class Counter:
    """Counts operations and says which of them fail: the n-th, and all later ones if asked."""

    def __init__(self, nth: int, operations: tuple[str, ...], *, stays: bool = False) -> None:
        self.nth = nth
        self.operations = operations
        self.stays = stays
        self.done = 0
        self.failed = False
        self._lock = threading.Lock()  # segments are written by several threads

    def fails(self, operation: str) -> bool:
        """Count one operation; True when it is to fail."""
        if operation not in self.operations:
            return False
        with self._lock:
            self.done += 1
            fails = self.done == self.nth or (self.stays and self.done > self.nth)
            self.failed |= fails
        return fails


class CountingOs:
    """The `os` module with a counter; an operation that is to fail raises, or writes too little."""

    def __init__(self, counter: Counter, code: int, *, short: bool = False) -> None:
        self._counter = counter
        self._code = code
        self._short = short

    def __getattr__(self, name: str) -> Any:
        real = getattr(os, name)
        if name not in OPERATIONS:
            return real

        def call(*arguments: Any, **options: Any) -> Any:
            if not self._counter.fails(name):
                return real(*arguments, **options)
            if self._short:  # legal: the caller has to go on with the rest
                descriptor, data = arguments
                return real(descriptor, data[: max(1, len(data) // 2)])
            raise OSError(self._code, os.strerror(self._code))

        return call


@contextlib.contextmanager
def failing_files(nth: int, code: int = errno.ENOSPC, *, stays: bool = False) -> Generator[Counter]:
    """Within the block the n-th operation of the segment files fails, and all later ones if asked.

    `failed` of what this yields says whether so many operations took place at all.
    """
    counter = Counter(nth, OPERATIONS, stays=stays)
    with _instead_of_os(CountingOs(counter, code), atomic_files, segments):
        yield counter


@contextlib.contextmanager
def _instead_of_os(faulty: CountingOs, *modules: Any) -> Generator[None]:
    for module in modules:
        module.os = faulty
    try:
        yield
    finally:
        for module in modules:
            module.os = os


class Kind(msgspec.Struct, frozen=True):
    """A way in which a disk fails: which operations, with which code."""

    code: int
    operations: tuple[str, ...]
    error: type[apsw.Error] = apsw.IOError
    """The error that SQLite gets instead of the code."""
    short: bool = False


KINDS = {
    "disk full": Kind(errno.ENOSPC, ("open", "write"), apsw.FullError),
    "I/O error": Kind(errno.EIO, OPERATIONS),
    "too many open files": Kind(errno.EMFILE, ("open",), apsw.CantOpenError),
    "permission denied": Kind(errno.EACCES, ("open", "unlink"), apsw.CantOpenError),
    "short write": Kind(0, ("write",), short=True),
    "failed fsync": Kind(errno.EIO, ("fsync",)),
    "failed rename": Kind(errno.EIO, ("replace",)),
}


@contextlib.contextmanager
def failing_disk(kind: str, nth: int, *, stays: bool = False) -> Generator[Counter]:
    """Within the block the n-th operation of that kind fails, in our own files and in SQLite's.

    Stores must be opened and closed inside the block.
    """
    way = KINDS[kind]
    counter = Counter(nth, way.operations, stays=stays)
    disk = (
        None if way.short else _FaultyDisk(counter, way)
    )  # SQLite's own layer writes on by itself
    try:
        with _instead_of_os(CountingOs(counter, way.code, short=way.short), *_FILE_LAYER):
            yield counter
    finally:
        if disk is not None:
            gc.collect()  # connections that an error left open
            disk.remove()


def is_disk_faulty() -> bool:
    """Whether this is within a block in which the disk fails, or kills."""
    return atomic_files.os is not os


@contextlib.contextmanager
def second_faults_pass() -> Generator[None]:
    """Ignore database errors during a rollback of SQLite, where they cannot be caught."""
    previous_hook = sys.unraisablehook

    def ignore_database_errors(unraisable: Any) -> None:
        if not isinstance(unraisable.exc_value, apsw.Error):
            previous_hook(unraisable)

    sys.unraisablehook = ignore_database_errors
    try:
        yield
    finally:
        sys.unraisablehook = previous_hook


class _Deadly(Counter):
    """Kills this process at the n-th operation: no handler runs and nothing is tidied up."""

    def fails(self, operation: str) -> bool:
        if super().fails(operation):
            os.kill(os.getpid(), signal.SIGKILL)
        return False


@contextlib.contextmanager
def deadly_disk(nth: int) -> Generator[Counter]:
    """Within the block the n-th operation on the disk is the last of this process."""
    counter = _Deadly(nth, OPERATIONS)
    disk = _FaultyDisk(counter, KINDS["I/O error"])
    try:
        with _instead_of_os(CountingOs(counter, 0), *_FILE_LAYER):
            yield counter
    finally:
        gc.collect()
        disk.remove()


_numbers = itertools.count()
_FILE_LAYER = (atomic_files, segments, unfinished, lock, backups, backup, swap)


class _FaultyDisk(apsw.VFS):
    """SQLite's way to the disk, as long as it is registered."""

    def __init__(self, counter: Counter, way: Kind) -> None:
        # Never on top of another layer, which may stand on this one soon, or be gone.
        self._base = "win32" if sys.platform == "win32" else "unix"
        self._counter = counter
        self._way = way
        super().__init__(f"faulty-{next(_numbers)}", self._base, makedefault=True)
        checksums.put_on_top()  # it works only above all others

    def check(self, operation: str) -> None:
        """Count one operation; raise when it is to fail."""
        if self._counter.fails(operation):
            raise self._way.error(os.strerror(self._way.code))

    def remove(self) -> None:
        """Remove the fault."""
        apsw.set_default_vfs(self._base)
        checksums.put_on_top()
        self.unregister()

    def xOpen(self, name: Any, flags: Any) -> apsw.VFSFile:  # noqa: N802 - named by SQLite
        """Open a file of the database."""
        self.check("open")
        return _FaultyFile(self._base, name, flags, self)

    def xDelete(self, filename: str, syncdir: bool) -> None:  # noqa: N802
        """Remove one, such as the log on closing."""
        self.check("unlink")
        super().xDelete(filename, syncdir)


class _FaultyFile(apsw.VFSFile):
    def __init__(self, base: str, name: Any, flags: Any, disk: _FaultyDisk) -> None:
        super().__init__(base, name, flags)
        self._disk = disk

    def xWrite(self, data: Any, offset: int) -> None:  # noqa: N802
        self._disk.check("write")
        base: Any = super()  # apsw's own annotation leaves the buffer unknown
        base.xWrite(data, offset)

    def xTruncate(self, newsize: int) -> None:  # noqa: N802
        self._disk.check("write")
        super().xTruncate(newsize)

    def xSync(self, flags: int) -> None:  # noqa: N802
        self._disk.check("fsync")
        super().xSync(flags)


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
