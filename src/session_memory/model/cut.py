"""Cuts a text to what a prompt may hold: its beginning, a marker, and its end."""

from __future__ import annotations

import msgspec

HEAD_SHARE = 3
"""One third comes from the beginning, the rest from the end: what came last matters most."""


class Cut(msgspec.Struct, frozen=True):
    """A text that fits, and whether anything was left out."""

    text: str
    truncated: bool


def cut(text: str, limit: int, marker: str) -> Cut:
    """Keep head and tail within `limit` bytes of UTF-8, without splitting a character."""
    data = text.encode("utf-8", "surrogatepass")
    if len(data) <= limit:
        return Cut(text, truncated=False)
    room = max(0, limit - len(marker.encode()))
    head = room // HEAD_SHARE
    shortened = prefix(data, head) + marker.encode() + suffix(data, room - head)
    if len(shortened) > limit:  # a limit below the marker itself
        shortened = prefix(shortened, limit)
    return Cut(shortened.decode("utf-8", "surrogatepass"), truncated=True)


def prefix(data: bytes, limit: int) -> bytes:
    """The longest beginning of at most `limit` bytes that ends between two characters."""
    end = min(max(0, limit), len(data))
    while 0 < end < len(data) and _is_continuation(data[end]):
        end -= 1
    return data[:end]


def suffix(data: bytes, limit: int) -> bytes:
    """The longest end of at most `limit` bytes that starts between two characters."""
    begin = max(0, len(data) - max(0, limit))
    while begin < len(data) and _is_continuation(data[begin]):
        begin += 1
    return data[begin:]


def _is_continuation(byte: int) -> bool:
    """Whether a byte of UTF-8 continues the character before it."""
    return byte & 0xC0 == 0x80
