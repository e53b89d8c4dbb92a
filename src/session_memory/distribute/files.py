"""Reads and replaces files of a repository, which is taken to be hostile.

A link may lead within the repository only; directories are entered one by one without following
links, so that none can be swapped between reading and writing.
"""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Generator
from pathlib import Path

import msgspec

from session_memory.atomic_files import write_all
from session_memory.errors import Refused

LARGEST = 4 * 1024 * 1024
"""No instruction file is larger; whatever is, is something else."""
_NOFOLLOW = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
_READ = os.O_RDONLY | _NOFOLLOW | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
_MAKE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _NOFOLLOW | getattr(os, "O_BINARY", 0)
_ENTER = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | _NOFOLLOW
_AT = os.name == "posix"
"""Whether names can be looked up within an open directory."""
_LEFT_OVER = ".session-memory-"


class FileContent(msgspec.Struct, frozen=True):
    """A file as it is now, or why it must not be touched."""

    real: str
    """Where it really is, behind any link."""
    data: bytes | None = None
    problem: str | None = None


class FileReader:
    """Reads files of repositories, each only once."""

    def __init__(self) -> None:
        self._contents: dict[tuple[str, str], FileContent] = {}

    def __call__(self, root: str, path: str) -> FileContent:
        """The file `path` below `root`."""
        key = (root, path)
        if key not in self._contents:
            self._contents[key] = read_file(root, path)
        return self._contents[key]


def repository_problem(root: str) -> str | None:
    """Why a repository must not be written to, or None."""
    try:
        if not os.path.isabs(root) or not stat.S_ISDIR(os.lstat(root).st_mode):
            return "it is not a directory any more"
    except (OSError, ValueError):
        return "the repository is gone"
    if not os.path.lexists(os.path.join(root, ".git")):
        return "it is not a git repository"
    return None


def read_file(root: str, path: str) -> FileContent:
    """Read one file; never raises because of what the repository holds."""
    base = os.path.realpath(root)
    real = os.path.realpath(os.path.join(base, path))
    inside = os.path.relpath(real, base) if real.startswith(base + os.sep) else None
    if inside is None or ".git" in Path(inside).parts:
        return FileContent(real, problem="it leads out of the repository")
    try:
        with _folder(base, os.path.dirname(inside), make=False) as folder:
            return FileContent(real, _read(folder, real))
    except FileNotFoundError:
        if os.path.islink(os.path.join(base, path)):
            return FileContent(real, problem="it is a link to nothing")
        return FileContent(real)
    except Refused as error:
        return FileContent(real, problem=error.message)
    except OSError as error:
        return FileContent(real, problem=f"it cannot be read: {error.strerror}")


def missing_folders(root: str, real: str) -> tuple[str, ...]:
    """Directories that have to be made for a file, outermost first, below the root."""
    base = os.path.realpath(root)
    way = [str(part) for part in Path(os.path.relpath(real, base)).parents][-2::-1]
    return tuple(part for part in way if not os.path.lexists(os.path.join(base, part)))


def put(root: str, real: str, before: bytes | None, after: bytes) -> None:
    """Replace a file in one step, keeping its mode; directories on the way are made."""
    base = os.path.realpath(root)
    inside = os.path.relpath(real, base)
    with _folder(base, os.path.dirname(inside), make=True) as folder:
        _check(folder, real, before)
        fresh = f".{os.path.basename(real)}{_LEFT_OVER}{os.getpid()}"
        mode = _mode(folder, real)
        try:
            descriptor = os.open(_name(real, fresh), _MAKE, mode, dir_fd=_at(folder))
            try:
                write_all(descriptor, after)
                if _AT:
                    os.fchmod(descriptor, mode)
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
            _check(folder, real, before)
            names = _name(real, fresh), _name(real)
            os.replace(*names, src_dir_fd=_at(folder), dst_dir_fd=_at(folder))
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(_name(real, fresh), dir_fd=_at(folder))
            raise
        _sync(folder)


def remove(root: str, real: str, before: bytes | None, folders: tuple[str, ...]) -> None:
    """Remove a file of ours, and directories made for it that hold nothing else."""
    base = os.path.realpath(root)
    with _folder(base, os.path.dirname(os.path.relpath(real, base)), make=False) as folder:
        _check(folder, real, before)
        os.unlink(_name(real), dir_fd=_at(folder))
        _sync(folder)
    remove_folders(root, folders)


def remove_folders(root: str, folders: tuple[str, ...]) -> None:
    """Remove directories that were made for a file and hold nothing else."""
    for made in reversed(folders):
        with contextlib.suppress(OSError):  # it holds something else by now
            os.rmdir(os.path.join(os.path.realpath(root), made))


def sweep_left_overs(root: str, real: str) -> None:
    """Remove what a run that was killed left next to a file; the lock says that none runs now."""
    base = os.path.realpath(root)
    begin = f".{os.path.basename(real)}{_LEFT_OVER}"
    inside = os.path.relpath(os.path.dirname(real), base)
    with contextlib.suppress(OSError), _folder(base, inside, make=False) as folder:
        for name in os.listdir(folder if _AT else os.path.dirname(real)):
            if name.startswith(begin) and name[len(begin) :].isdecimal():
                os.unlink(_name(real, name), dir_fd=_at(folder))


@contextlib.contextmanager
def _folder(base: str, inside: str, *, make: bool) -> Generator[int]:
    """The open directory `inside` a repository; -1 where directories cannot be opened."""
    if not _AT:
        if make:
            os.makedirs(os.path.join(base, inside), exist_ok=True)
        yield -1
        return
    here = os.open(base, _ENTER)
    try:
        for part in Path(inside).parts:
            below = _make_and_enter(part, here) if make else os.open(part, _ENTER, dir_fd=here)
            os.close(here)
            here = below
        yield here
    finally:
        os.close(here)


def _make_and_enter(part: str, here: int) -> int:
    """A directory inside an open one, made if missing, with the mode of the one it is in."""
    mode = stat.S_IMODE(os.fstat(here).st_mode) & 0o777
    try:
        os.mkdir(part, mode, dir_fd=here)
    except FileExistsError:
        return os.open(part, _ENTER, dir_fd=here)
    below = os.open(part, _ENTER, dir_fd=here)
    os.fchmod(below, mode)  # the umask of this program is private; a repository's is not
    return below


def _at(folder: int) -> int | None:
    return folder if _AT else None


def _name(real: str, name: str | None = None) -> str:
    wanted = name or os.path.basename(real)
    return wanted if _AT else os.path.join(os.path.dirname(real), wanted)


def _read(folder: int, real: str) -> bytes:
    descriptor = os.open(_name(real), _READ, dir_fd=_at(folder))
    try:
        info = os.fstat(descriptor)
        if not stat.S_ISREG(info.st_mode):
            raise Refused("it is not a regular file")
        if info.st_size > LARGEST:
            raise Refused(f"it is larger than {LARGEST} bytes")
        parts: list[bytes] = []
        while part := os.read(descriptor, LARGEST):
            parts.append(part)
        return b"".join(parts)
    finally:
        os.close(descriptor)


def _check(folder: int, real: str, before: bytes | None) -> None:
    """Refuse when the file is not what it was when the change was planned."""
    try:
        now = _read(folder, real)
    except FileNotFoundError:
        now = None
    if now != before:
        raise Refused("it has changed meanwhile", hint="run the command again")


def _mode(folder: int, real: str) -> int:
    """The mode of the file; of a new one, what its directory allows others to do."""
    try:
        info = os.stat(_name(real), dir_fd=_at(folder), follow_symlinks=False)
        return stat.S_IMODE(info.st_mode)
    except FileNotFoundError:
        folder_info = os.fstat(folder) if _AT else os.stat(os.path.dirname(real))
        return stat.S_IMODE(folder_info.st_mode) & 0o666


def _sync(folder: int) -> None:
    if _AT:
        os.fsync(folder)
