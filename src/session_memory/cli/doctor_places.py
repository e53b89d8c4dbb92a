"""Whether the disk has room for our files, and whether they are the user's."""

from __future__ import annotations

import os
import shlex
import shutil
import stat
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from session_memory.cli.output import human_bytes
from session_memory.install.checks import Check

LOW = 1024**3
FULL = 64 * 1024**2
"""With less, a sweep cannot be expected to come to its end."""
FEW_FILES = 1000
ROOM = "free some; `session-memory store retention plan` shows what of the store could go"


def check_space(places: Iterable[Path]) -> Check:
    """Free space and free file entries where our files are; the scarcest place counts."""
    path_by_device = {_device(path): path for path in map(_existing, places)}
    free, path = min((shutil.disk_usage(path).free, path) for path in path_by_device.values())
    if any(_is_out_of_entries(path) for path in path_by_device.values()):
        return Check("space", "fail", f"no room for more files on the disk of {path}", ROOM)
    detail = f"{human_bytes(free)} free"
    if free < FULL:
        return Check("space", "fail", f"the disk of {path} is full: {detail}", ROOM)
    if free < LOW:
        return Check("space", "warn", f"the disk of {path} is nearly full: {detail}", ROOM)
    return Check("space", "pass", detail)


def check_owner(folders: Iterable[Path], user: int | None, name: Callable[[int], str]) -> Check:
    """Whether everything of ours belongs to this user (None: not asked on this system)."""
    if user is None:
        return Check("owner", "pass", "not checked on this system")
    foreign: dict[Path, list[tuple[str, int]]] = {}
    closed: list[str] = []
    for folder in folders:
        if not os.path.lexists(folder) and not os.access(_existing(folder), os.W_OK | os.X_OK):
            above = _existing(folder)
            fix = f"chmod u+rwx {shlex.quote(str(above))}, or name a place with SESSION_MEMORY_HOME"
            detail = f"{folder} cannot be made: {above} cannot be written"
            return Check("owner", "fail", detail, fix)
        for path in _below(folder):
            owner = os.lstat(path).st_uid
            if owner != user:
                foreign.setdefault(folder, []).append((path, owner))
            elif os.path.isdir(path) and not os.access(path, os.R_OK | os.W_OK | os.X_OK):
                closed.append(path)
    if foreign:
        return _foreign(foreign, user, name)
    if closed:
        fix = f"chmod u+rwx {shlex.quote(closed[0])}"
        return Check("owner", "fail", f"{closed[0]} cannot be written by you", fix)
    return Check("owner", "pass", "everything is yours")


def _foreign(
    foreign: dict[Path, list[tuple[str, int]]], user: int, name: Callable[[int], str]
) -> Check:
    count = sum(map(len, foreign.values()))
    path, owner = next(iter(foreign.values()))[0]
    which = f"{count} files belong" if count > 1 else "1 file belongs"
    detail = f"{which} to {name(owner)}, such as {path}"
    if user == 0:
        return Check("owner", "fail", detail, f"run this as {name(owner)}, without sudo")
    folders = " ".join(shlex.quote(str(place)) for place in foreign)
    detail += ": was a command run with sudo?"
    return Check("owner", "fail", detail, f"sudo chown -R {shlex.quote(name(user))} {folders}")


def _below(path: Path) -> Iterator[str]:
    if not os.path.lexists(path):
        return
    yield str(path)
    for folder, folders, names in os.walk(path):
        yield from (os.path.join(folder, name) for name in (*folders, *names))


def _existing(place: Path) -> Path:
    """The place, or the nearest folder above it that exists."""
    return next(path for path in (place, *place.parents) if path.exists())


def _device(path: Path) -> int:
    return path.stat().st_dev


def _is_out_of_entries(path: Path) -> bool:
    if not hasattr(os, "statvfs"):
        return False
    state = os.statvfs(path)
    return state.f_files > 0 and state.f_favail < FEW_FILES


def open_to_others(base: str) -> dict[str, int]:
    """The directory and what is below it that others than the owner may use, with its mode."""
    inside = (
        os.path.join(folder, name)
        for folder, folders, names in os.walk(base)
        for name in (*folders, *names)
    )
    modes = {path: os.lstat(path).st_mode for path in (base, *inside) if os.path.lexists(path)}
    return {
        path: stat.S_IMODE(mode)
        for path, mode in modes.items()
        if not stat.S_ISLNK(mode) and stat.S_IMODE(mode) & 0o077
    }
