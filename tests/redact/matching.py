"""Texts that an expression matches, made from its syntax tree: a hundred take a moment.

Hypothesis makes them too, with far more work for each: it keeps every choice, to shrink it later.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterable, Iterator
from functools import cache
from re import _constants as names  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any

_BYTES = frozenset(range(256))
_DIGITS = frozenset(b"0123456789")
_SPACES = frozenset(b" \t\n\r\f")  # as RE2 has them; for `re` there is one more
_WORDS = _DIGITS | frozenset(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_")
_CLASSES = {
    names.CATEGORY_DIGIT: _DIGITS,
    names.CATEGORY_SPACE: _SPACES,
    names.CATEGORY_WORD: _WORDS,
    names.CATEGORY_NOT_DIGIT: _BYTES - _DIGITS,
    names.CATEGORY_NOT_SPACE: _BYTES - _SPACES,
    names.CATEGORY_NOT_WORD: _BYTES - _WORDS,
}
_MORE = 6
"""How many more than it must a repeated part comes."""


def texts_matching(pattern: bytes, count: int, *, around: bool = False) -> Iterator[bytes]:
    """So many texts that Python's `re` matches whole, or with something `around` the match.

    The same ones every time. Where an assertion (a word's end, say) does not hold for what was
    made, another one is made.
    """
    chosen = random.Random(pattern)
    whole = re.compile(pattern)
    tree = parser.parse(pattern)
    made = 0
    for _ in range(count * 200):
        text = _Maker(chosen, tree.state.flags).text(tree)
        if around:
            text = _noise(chosen) + text + _noise(chosen)
        if whole.search(text) if around else whole.fullmatch(text):
            yield text
            made += 1
            if made == count:
                return
    raise AssertionError(f"only {made} texts match {pattern!r}")


def _noise(chosen: random.Random) -> bytes:
    length = chosen.choice((0, 0, 1, 3))
    return bytes(chosen.choice(b" \n\"'=:;,.abcXYZ019_-\x00\xff") for _ in range(length))


class _Maker:
    """Makes one text; what a group matched is kept for references to it."""

    def __init__(self, chosen: random.Random, flags: int) -> None:
        self._chosen = chosen
        self._flags = flags
        self._groups: dict[int, bytes] = {}

    def text(self, tree: Iterable[tuple[Any, Any]], flags: int | None = None) -> bytes:
        """A text for a sequence of parts."""
        flags = self._flags if flags is None else flags
        return b"".join(self._part(kind, value, flags) for kind, value in tree)

    def _part(self, kind: Any, value: Any, flags: int) -> bytes:
        if kind in (names.AT, names.ASSERT_NOT):
            return b""  # the whole text is looked at in the end
        if kind in (names.LITERAL, names.NOT_LITERAL, names.ANY):
            return self._letter(((kind, value),), flags)
        if kind is names.IN:
            return self._letter(tuple(value), flags)
        if kind is names.BRANCH:
            return self.text(self._chosen.choice(value[1]), flags)
        if kind is names.SUBPATTERN:
            group, added, removed, inner = value
            made = self.text(inner, (flags | added) & ~removed)
            if group is not None:
                self._groups[group] = made
            return made
        if kind in (names.MAX_REPEAT, names.MIN_REPEAT, names.POSSESSIVE_REPEAT):
            least, most, inner = value
            times = self._chosen.randint(least, min(most, least + _MORE))
            return b"".join(self.text(inner, flags) for _ in range(times))
        if kind is names.GROUPREF:
            return self._groups[value]
        if kind is names.ATOMIC_GROUP:
            return self.text(value, flags)
        raise NotImplementedError(kind)

    def _letter(self, members: tuple[tuple[Any, Any], ...], flags: int) -> bytes:
        every = _bytes_of(members, flags & re.DOTALL)
        at = int(self._chosen.random() * len(every))  # four times as fast as `choice`
        letter = every[at : at + 1]
        return letter.swapcase() if flags & re.I and self._chosen.random() < 0.5 else letter


@cache
def _bytes_of(members: tuple[tuple[Any, Any], ...], dot_is_all: int) -> bytes:
    """Every byte of a set such as `[^a-z\\d]`."""
    found: set[int] = set()
    for kind, what in members:
        if kind is names.LITERAL:
            found.add(what)
        elif kind is names.NOT_LITERAL:
            found |= _BYTES - {what}
        elif kind is names.ANY:
            found |= _BYTES if dot_is_all else _BYTES - {10}
        elif kind is names.RANGE:
            found.update(range(what[0], what[1] + 1))
        elif kind is names.CATEGORY:
            found |= _CLASSES[what]
    negated = members[0][0] is names.NEGATE
    return bytes(sorted(_BYTES - found if negated else found))
