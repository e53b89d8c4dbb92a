"""Patterns that are tried only where one of their words occurs: most sentences have none."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache

import msgspec

from session_memory.core.commands import words
from session_memory.regex_cache import compiled

_IN_WORDS = frozenset(b"'-_")
# By bytes: `str.translate` takes several times as long, and every sentence is looked at.
_BREAKS = bytes(
    byte if byte > 127 or chr(byte).isalnum() or byte in _IN_WORDS else 32 for byte in range(256)
)


def words_in(text: str) -> list[str]:
    """The words of a text without the marks around them."""
    return text.encode("utf-8", "replace").translate(_BREAKS).decode("utf-8", "replace").split()


def lines_with(cues: Iterable[str], text: str) -> list[str]:
    """The lines of a text that have a cue: all that a pattern needs to see that leaves no line."""
    present = [cue for cue in cues if cue in text]
    if not present:
        return []
    return [line for line in text.split("\n") if any(map(line.__contains__, present))]


class Cued(msgspec.Struct, frozen=True):
    """A pattern, and the words of which a sentence needs at least one to be searched for it."""

    cues: frozenset[str]
    pattern: str

    def search(self, text: str) -> re.Match[str] | None:
        """Where the pattern stands in a text, whatever its cues."""
        return _compiled(self.pattern).search(text)


class Sentence(msgspec.Struct, frozen=True):
    """A sentence prepared for being read."""

    raw: str
    text: str
    """Its plain form."""
    words: frozenset[str]
    count: int
    asks: bool

    def has(self, cued: Cued) -> bool:
        """Whether the pattern is found in it."""
        return not cued.cues.isdisjoint(self.words) and bool(cued.search(self.text))


@cache  # on first use: compiling takes long, and many sessions have no cue of a pattern
def _compiled(pattern: str) -> re.Pattern[str]:
    return compiled(pattern)


def cued(cues: str, *parts: str) -> Cued:
    """A pattern of alternatives with its cues, written as one line of words."""
    return Cued(words(cues), "|".join(parts))
