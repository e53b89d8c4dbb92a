"""Configuration files of agents: looked at, backed up, replaced in one step, given back.

A link is followed and kept, because people keep such files in a folder of their own and link to
them; in a project, which is hostile until shown otherwise, it may not lead out.
"""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Callable

from session_memory.atomic_files import write_all
from session_memory.errors import Refused
from session_memory.install.plan import BACKUP, CurrentFile

LARGEST = 64 * 1024 * 1024
_LEFT_OVER = ".session-memory-"
_MAKE = (
    os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
)


def read_file(path: str, project: str | None = None) -> CurrentFile:
    """Read one file; never raises for what stands there."""
    real = os.path.realpath(path)
    if project and not real.startswith(os.path.realpath(project) + os.sep):
        return CurrentFile(real, problem="it leads out of the project")
    try:
        info = os.stat(real)
        if not stat.S_ISREG(info.st_mode):
            return CurrentFile(real, problem="it is not a regular file")
        if os.name == "posix" and info.st_uid != os.geteuid():
            return CurrentFile(real, problem="it belongs to another user")
        if info.st_size > LARGEST:
            return CurrentFile(real, problem=f"it is larger than {LARGEST} bytes")
        with open(real, "rb") as stream:
            return CurrentFile(real, stream.read())
    except FileNotFoundError:
        if os.path.islink(path):
            return CurrentFile(real, problem="it is a link to nothing", hint="remove the link")
        return CurrentFile(real)
    except OSError as error:
        hint = "see its permissions"
        return CurrentFile(real, problem=f"it cannot be read: {error.strerror}", hint=hint)


def missing_folders(real: str) -> tuple[str, ...]:
    """Directories that have to be made for a file, outermost first."""
    missing: list[str] = []
    folder = os.path.dirname(real)
    while not os.path.lexists(folder) and os.path.dirname(folder) != folder:
        missing.append(folder)
        folder = os.path.dirname(folder)
    return tuple(reversed(missing))


def put(real: str, before: bytes | None, after: bytes) -> None:
    """Replace a file in one step, keeping its mode; it must be as it was when it was read."""
    for folder in missing_folders(real):
        os.mkdir(folder, 0o700)
    info = None if before is None else os.stat(real)
    _replace(real, after, info, lambda: _check(real, before))


def back_up(real: str, before: bytes) -> None:
    """A copy next to the file, of the same mode; it replaces that of an earlier run."""
    _replace(real + BACKUP, before, os.stat(real), lambda: None)


def sweep_left_overs(real: str) -> None:
    """Remove what a run that was killed left next to a file; the lock says that none runs now."""
    folder, name = os.path.split(real)
    begins = (f".{name}{_LEFT_OVER}", f".{name}{BACKUP}{_LEFT_OVER}")
    with contextlib.suppress(OSError):
        for entry in os.listdir(folder):
            if entry.startswith(begins) and entry.rpartition("-")[2].isdecimal():
                os.unlink(os.path.join(folder, entry))


def remove(real: str, before: bytes | None) -> None:
    """Remove a file that was made for us."""
    _check(real, before)
    os.unlink(real)


def remove_empty(folders: tuple[str, ...]) -> None:
    """Remove directories that were made for us and hold nothing else."""
    for folder in reversed(folders):
        with contextlib.suppress(OSError):
            os.rmdir(folder)


def remove_backup(path: str | None) -> None:
    """Remove the copy of a file as it was before us."""
    if path is None or not path.endswith(BACKUP):
        return
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path)


def _replace(
    real: str, data: bytes, info: os.stat_result | None, check: Callable[[], None]
) -> None:
    folder, name = os.path.split(real)
    fresh = os.path.join(folder, f".{name}{_LEFT_OVER}{os.getpid()}")
    try:
        descriptor = os.open(fresh, _MAKE, 0o600)
        try:
            write_all(descriptor, data)
            _keep_mode(descriptor, info)
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        check()
        os.replace(fresh, real)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(fresh)
        raise
    _sync(folder)


def _keep_mode(descriptor: int, info: os.stat_result | None) -> None:
    """Mode and group of the file that is replaced; a new one is for its owner alone."""
    if os.name != "posix" or info is None:
        return
    if os.fstat(descriptor).st_gid != info.st_gid:
        with contextlib.suppress(OSError):
            os.fchown(descriptor, -1, info.st_gid)
    os.fchmod(descriptor, stat.S_IMODE(info.st_mode))


def _check(real: str, before: bytes | None) -> None:
    """Refuse when the file is not what it was when the change was planned."""
    if read_file(real).data != before:
        raise Refused("it has changed meanwhile", hint="run the command again")


def _sync(folder: str) -> None:
    if os.name == "posix":
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
