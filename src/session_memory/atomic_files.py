"""Replacing a file so that a crash or a power cut leaves the old bytes or the new ones, never half.

Files that belong to others are written by `install.files`, `distribute.files` and
`recall.pack_sync`, which also notice that the file was changed meanwhile.
"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

UNFINISHED = ".new"
# A link in the place of a file could point our writes anywhere; Windows has neither flag.
_MAKE = (
    os.O_WRONLY
    | os.O_CREAT
    | os.O_TRUNC
    | getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_BINARY", 0)
)


def replace_file(path: Path | str, data: bytes, mode: int = 0o600) -> None:
    """Write a new file next to the old one, flush it, rename it, flush the directory."""
    path = os.fspath(path)
    fresh = f"{path}.{os.getpid()}{UNFINISHED}"
    write_file(fresh, data, mode)
    os.replace(fresh, path)
    flush_directory(os.path.dirname(path))


def write_file(path: Path | str, data: bytes, mode: int = 0o600) -> None:
    """Write a file, private unless `mode` says otherwise, and flush it to the disk."""
    descriptor = os.open(path, _MAKE, mode)
    try:
        if os.name == "posix":
            os.fchmod(descriptor, mode)  # whatever the umask is, or an earlier file had
        write_all(descriptor, data)
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def write_all(descriptor: int, data: bytes) -> None:
    """Write every byte: a short write is legal."""
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


def drop_unfinished(path: Path | str) -> None:
    """Remove what a killed `replace_file` left; only while no other process may write the file."""
    import glob  # paths imports this module, and every command paths

    for left in glob.glob(f"{glob.escape(os.fspath(path))}.*{UNFINISHED}"):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(left)


def make_directory(path: Path | str, mode: int = 0o700) -> None:
    """Make a directory and its missing parents, each with this mode and with a name that stays."""
    path = os.path.abspath(path)
    if os.path.isdir(path):
        return
    above = os.path.dirname(path)
    make_directory(above, mode)
    with contextlib.suppress(FileExistsError):  # another process was quicker
        os.mkdir(path, mode)
    flush_directory(above)


def flush_file(path: Path | str) -> None:
    """Make the content of a file that another library wrote survive a power cut."""
    descriptor = os.open(path, os.O_RDWR)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def flush_directory(path: Path | str) -> None:
    """Make the names in a directory survive a power cut; Windows does so by itself."""
    if os.name == "nt":
        return
    descriptor = os.open(path or ".", os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
