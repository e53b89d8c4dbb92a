"""Every write outside our own places, one line each, appended and never changed.

A user can ask at any time what this program did to files that are not its own. Only the path of a
project that is forgotten is taken out; that something was written, when and why, stays.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from pathlib import Path

import msgspec

from session_memory.atomic_files import replace_file
from session_memory.file_names import name_to_text
from session_memory.paths import open_private, private_dir

FILE = "audit.jsonl"


class Written(msgspec.Struct, frozen=True):
    """One write: when, by which part of the program, where, why, and what changed, as hashes."""

    at: int
    by: str
    path: str
    why: str
    before: str | None
    """SHA-256 of the file before; None where there was none."""
    after: str | None
    """SHA-256 of the file after; None where it was removed."""


def sha256(data: bytes | None) -> str | None:
    """The hash of a file's content; None for no file."""
    return None if data is None else hashlib.sha256(data).hexdigest()


def append(data: Path, written: Written) -> None:
    """Add a line, whole and on the disk before this returns; two processes do not mix theirs."""
    storable = msgspec.structs.replace(written, path=name_to_text(written.path))
    line = msgspec.json.encode(storable) + b"\n"
    with open_private(private_dir(data) / FILE, "ab") as stream:
        if stream.tell() and not _ends_whole(data / FILE):
            line = b"\n" + line  # a run that was cut off left half a line
        stream.write(line)
        stream.flush()
        os.fsync(stream.fileno())


def read(data: Path) -> tuple[Written, ...]:
    """Every write that is noted, oldest first; half a line that a crash left is not a write."""
    try:
        lines = (data / FILE).read_bytes().splitlines()
    except FileNotFoundError:
        return ()
    entries: list[Written] = []
    for line in lines:
        try:
            entries.append(msgspec.json.decode(line, type=Written))
        except msgspec.DecodeError:
            continue
    return tuple(entries)


def forget(data: Path, owns: Callable[[str], bool], instead: str) -> int:
    """Put a word in place of every path that `owns` knows; returns how many there were."""
    before = read(data)
    after = [
        msgspec.structs.replace(entry, path=instead) if owns(entry.path) else entry
        for entry in before
    ]
    changed = sum(old != new for old, new in zip(before, after, strict=True))
    if changed:
        replace_file(data / FILE, b"".join(msgspec.json.encode(entry) + b"\n" for entry in after))
    return changed


def _ends_whole(path: Path) -> bool:
    with open(path, "rb") as stream:
        stream.seek(-1, os.SEEK_END)
        return stream.read(1) == b"\n"
