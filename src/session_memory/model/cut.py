"""Cutting a text down to what a prompt may hold: its beginning and its end, with a mark between."""

from __future__ import annotations

import msgspec

HEAD_SHARE = 3
"""One third from the beginning, the rest from the end: what came last matters most."""


class Cut(msgspec.Struct, frozen=True):
    """A text that fits, and whether anything was left out."""

    text: str
    truncated: bool


def cut(text: str, limit: int, marker: str) -> Cut:
    """Keep head and tail within `limit` bytes of UTF-8, whole characters only."""
    data = text.encode("utf-8", "surrogatepass")
    if len(data) <= limit:
        return Cut(text, truncated=False)
    room = max(0, limit - len(marker.encode()))
    head = room // HEAD_SHARE
    kept = prefix(data, head) + marker.encode() + suffix(data, room - head)
    if len(kept) > limit:  # a limit below the marker itself
        kept = prefix(kept, limit)
    return Cut(kept.decode("utf-8", "surrogatepass"), truncated=True)


def prefix(data: bytes, limit: int) -> bytes:
    """The longest beginning of at most `limit` bytes that ends between two characters."""
    end = min(max(0, limit), len(data))
    while 0 < end < len(data) and _inside(data[end]):
        end -= 1
    return data[:end]


def suffix(data: bytes, limit: int) -> bytes:
    """The longest end of at most `limit` bytes that begins between two characters."""
    begin = max(0, len(data) - max(0, limit))
    while begin < len(data) and _inside(data[begin]):
        begin += 1
    return data[begin:]


def _inside(byte: int) -> bool:
    """Whether a byte goes on with a character that began before it."""
    return byte & 0xC0 == 0x80
