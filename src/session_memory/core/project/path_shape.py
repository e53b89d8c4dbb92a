"""What a path says about itself, by its own shape and never by the machine it is read on."""

from __future__ import annotations

import ntpath
import posixpath
import re
from functools import cache
from typing import Protocol

from session_memory.regex_cache import compiled

MAX_LEVELS = 10
"""How far above a directory a project may start (IDN-05)."""

_WINDOWS = compiled(r"[A-Za-z]:[\\/]|\\\\")
# The four below are compiled at first use: an idle sweep never needs them.
_DRIVE = r"(?:[a-z]:|/mnt/[a-z]|/[a-z])"  # as Windows, WSL and Git Bash spell it
_SYSTEM = r"(?:windows|program files(?: \(x86\))?|programdata)"
_NEVER_ROOT = (
    r"(?:/private)?(?:/var)?/tmp|/dev/shm|(?:/private)?/var/folders/[^/]+/[^/]+/t"
    rf"|[a-z]:/te?mp|{_DRIVE}/{_SYSTEM}|{_DRIVE}/windows/(?:system32|syswow64|temp)"
)
_TECHNICAL = (
    rf"{_DRIVE}/{_SYSTEM}(?:/.*)?"
    r"|.*/(?:system32|syswow64|windows|te?mp|program files(?: \(x86\))?)"
)
_SHARED_GROUND = (
    r"/(?:root|home|users|usr|etc|var|opt|mnt|media|volumes|proc|sys|dev|run|bin|sbin|lib|boot)"
    rf"|(?:/home|/users|{_DRIVE}/users)(?:/[^/]+)?|/mnt/[a-z]"
)

# Where people and agents put worktrees: in the checkout, or in a folder named after it next to it.
_WORKTREE = r"(.+?)(?:[\\/]\.(?:claude[\\/])?worktrees|(?:__|[.-])worktrees)[\\/].+"


class Tree(Protocol):
    """The few questions identity asks of a file system; none of them may raise."""

    def is_dir(self, path: str) -> bool: ...
    def is_file(self, path: str) -> bool: ...
    def read_text(self, path: str, limit: int) -> str | None: ...
    def real(self, path: str) -> str:
        """The path with symbolic links resolved, as far as it exists."""
        ...


def is_windows(path: str) -> bool:
    """True for drive and UNC paths, whatever machine the log is read on."""
    return path[:1] != "/" and _WINDOWS.match(path) is not None


def absolute(path: str) -> str | None:
    """The path in normal form, or None for one that names no definite place.

    A relative path is refused: joining it to our own working directory would invent a project.
    """
    if "\0" in path:
        return None
    if path.startswith("\\\\?\\"):  # the long-path prefix adds nothing to where it points
        path = path[4:]
        if path[:4].upper() == "UNC\\":
            path = "\\\\" + path[4:]
    if is_windows(path):
        return ntpath.normpath(path)
    if path.startswith("/"):
        return "/" + posixpath.normpath(path).lstrip("/")
    return None


def join(base: str, path: str) -> str:
    """`path` seen from `base`, in normal form; an absolute `path` stands for itself."""
    whole = absolute(path)
    if whole is not None:
        return whole
    if is_windows(base):  # ntpath.join would take `a:b` for another drive and lose the base
        return ntpath.normpath(f"{base}\\{path}")
    return posixpath.normpath(posixpath.join(base, path))


def parent(path: str) -> str:
    """The directory above; a root is its own parent."""
    return ntpath.dirname(path) if is_windows(path) else posixpath.dirname(path)


def leaf(path: str) -> str:
    """The last name of the path; empty for a root."""
    return ntpath.basename(path) if is_windows(path) else posixpath.basename(path)


def fold(path: str) -> str:
    """A form in which two spellings of one place are equal; only for comparing and hashing."""
    if is_windows(path):
        path = ntpath.normpath(path).replace("\\", "/").lower()
    return path.rstrip("/") or "/"


def same_place(path: str | None, other: str | None) -> bool:
    """Whether two spellings name one place: the only test of "same root", here and in the store."""
    if path is None or other is None:
        return path is other
    return fold(path) == fold(other)


def within(path: str, base: str) -> bool:
    """True where `path` is `base` or lies below it."""
    inner, outer = fold(path), fold(base)
    return inner == outer or inner.startswith(outer.rstrip("/") + "/")


def rebase(path: str, old: str, new: str) -> str:
    """`path`, which lies within `old`, at the same place within `new`."""
    rest = path[len(old) :].strip("\\/")
    return join(new, rest) if rest else new


def upward(path: str) -> tuple[str, ...]:
    """The path and what lies above it, at most `MAX_LEVELS` levels."""
    levels = [path]
    while len(levels) <= MAX_LEVELS and (above := parent(levels[-1])) != levels[-1]:
        levels.append(above)
    return tuple(levels)


@cache
def _cached(pattern: str) -> re.Pattern[str]:
    return compiled(pattern, re.IGNORECASE | re.DOTALL)


def checkout_of(path: str) -> str | None:
    """The main checkout of a directory that is named like a worktree, or None.

    Worktrees are deleted when their branch is merged: by then only the path shows it.
    """
    match = _cached(_WORKTREE).fullmatch(path)
    return match[1] if match is not None and leaf(match[1]) else None


def never_root(path: str, home: str | None) -> bool:
    """Places too broad to be one project even if something there looks like one."""
    if parent(path) == path or (home is not None and fold(path) == fold(home)):
        return True
    return _cached(_NEVER_ROOT).fullmatch(fold(path)) is not None


def is_technical(path: str) -> bool:
    """Places programs are started in without anyone having chosen them (IDN-04)."""
    return _cached(_TECHNICAL).fullmatch(fold(path)) is not None


def is_shared_ground(path: str) -> bool:
    """Places that hold many projects: homes by their shape, and the top of a system."""
    return _cached(_SHARED_GROUND).fullmatch(fold(path)) is not None
