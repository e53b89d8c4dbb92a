"""How far a file was read, and what a look at it today means for the next read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import msgspec

from session_memory.core.hashing import blake2b

SPAN = 4096
"""How many bytes at each end of the part already read are compared before going on behind it."""

Stamp = tuple[int, int, int, int, int]
"""(device, inode, size, mtime_ns, ctime_ns): equal stamps mean an untouched file."""


class Cursor(msgspec.Struct, frozen=True):
    """The remembered state of one source."""

    source_id: int
    stamp: Stamp
    head_hash: bytes
    tail_hash: bytes
    read_to: int
    state: dict[str, Any]
    parser_version: int


ReadKind = Literal["new", "tail", "rewritten", "replaced", "reparse", "unchanged"]
"""`rewritten`: read whole again; `replaced`: also read whole, and holds nothing read before."""


class ReadPlan(msgspec.Struct, frozen=True):
    """Where to start reading, and why."""

    kind: ReadKind
    offset: int = 0
    state: dict[str, Any] = {}
    shrunk: bool = False
    """A replaced file is smaller than it was."""
    overwritten: bool = False
    """A rewritten file has other bytes than before, and not more of them."""


def plan_read(
    cursor: Cursor | None,
    stamp: Stamp,
    parser_version: int,
    read: Callable[[int, int], bytes],
) -> ReadPlan:
    """Decide from the cursor and the file's first and last known bytes.

    `read(offset, length)` reads the file. Growth behind an intact prefix reads the tail; a file of
    unchanged size but new times, a shorter one, or one with another prefix is read whole, because
    an offset into a replaced file means nothing.
    """
    if cursor is None:
        return ReadPlan("new")
    if cursor.stamp == stamp and cursor.parser_version == parser_version:
        return ReadPlan("unchanged")
    intact = cursor.read_to == 0 or (
        stamp[2] >= cursor.read_to
        and prefix_hashes(read, cursor.read_to) == (cursor.head_hash, cursor.tail_hash)
    )
    if not intact:
        return ReadPlan("replaced", shrunk=stamp[2] < cursor.stamp[2])
    if cursor.parser_version != parser_version:
        return ReadPlan("reparse")
    if cursor.read_to == 0 or stamp[2] == cursor.stamp[2]:
        return ReadPlan("rewritten")
    return ReadPlan("tail", cursor.read_to, cursor.state)


def prefix_hashes(read: Callable[[int, int], bytes], read_to: int) -> tuple[bytes, bytes]:
    """Hashes of the first and the last `SPAN` bytes before `read_to`."""
    head = read(0, min(SPAN, read_to))
    return hashes_of(head, head if read_to <= SPAN else read(read_to - SPAN, SPAN))


def hashes_of(head: bytes, tail: bytes) -> tuple[bytes, bytes]:
    """The same of bytes that were read; the log of a short session is both its ends."""
    hashed = _hash(head)
    return hashed, hashed if tail == head else _hash(tail)


def _hash(data: bytes) -> bytes:
    return blake2b(data, digest_size=16).digest()
