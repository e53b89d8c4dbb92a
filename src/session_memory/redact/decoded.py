"""A text with an encoding undone, and where each part of it stood before."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable
from functools import cached_property

import msgspec

Meaning = Callable[[re.Match[bytes]], bytes]


class Part(msgspec.Struct, frozen=True):
    """A stretch of the decoded text; an escape has its own, with the end of the escape."""

    start: int
    original: int
    escape_end: int = 0


class Decoded:
    """A text in which every escape is replaced by what it means."""

    def __init__(self, text: bytes, escapes: re.Pattern[bytes], meaning: Meaning | bytes) -> None:
        self.data = escapes.sub(meaning, text)
        self._text, self._escapes, self._meaning = text, escapes, meaning

    def first(self, offset: int) -> int:
        """Where the character at an offset begins in the original."""
        part = self._part(offset)
        return part.original if part.escape_end else part.original + offset - part.start

    def last(self, offset: int) -> int:
        """Where the character before an offset ends in the original."""
        part = self._part(offset - 1)
        return part.escape_end or part.original + offset - part.start

    def _part(self, offset: int) -> Part:
        return self._parts[bisect_right(self._parts, offset, key=lambda part: part.start) - 1]

    @cached_property
    def _parts(self) -> list[Part]:
        """Most decoded texts hold no secret, and need no places."""
        parts = [Part(0, 0)]
        position = length = 0
        for escape in self._escapes.finditer(self._text):
            start, end = escape.span()
            plain = self._meaning if isinstance(self._meaning, bytes) else self._meaning(escape)
            length += start - position
            parts += (Part(length, start, end), Part(length + len(plain), end))
            length += len(plain)
            position = end
        return parts
