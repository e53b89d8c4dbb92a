"""Replacing a small file so that a crash or a power cut leaves the old bytes or the new ones."""

from __future__ import annotations

import contextlib
import os

UNFINISHED = ".tmp"


def replace_file(path: str, data: bytes) -> None:
    """Write beside the file, flush, rename, flush the directory; the file is private throughout.

    Two writers at once would share the temporary name: callers hold a lock.
    """
    write_file(path + UNFINISHED, data)
    os.replace(path + UNFINISHED, path)
    flush_directory(os.path.dirname(path))


def write_file(path: str, data: bytes) -> None:
    """Write a private file and flush it to the disk."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | getattr(os, "O_NOFOLLOW", 0)
    descriptor = os.open(path, flags, 0o600)
    try:
        view = memoryview(data)
        while view:  # a short write is legal
            view = view[os.write(descriptor, view) :]
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def drop_unfinished(path: str) -> None:
    """Remove what an interrupted `replace_file` left."""
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path + UNFINISHED)


def flush_directory(path: str) -> None:
    """Make names in a directory durable; Windows has no handle for that."""
    if os.name == "nt":
        return
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
