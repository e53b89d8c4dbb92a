"""Finds which signals may recur, in little memory, before anything is counted.

Most of what sessions show is never seen again. A first pass counts short keys in a table of fixed
size; a signal none of whose keys came twice is then left out of the counting. Two keys may share a
place of the table, so some signals are kept for nothing: that costs memory and changes no answer.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import chain
from zlib import crc32

from session_memory.core.loop.patterns import Signal
from session_memory.detect.templates import ANY, branch_of, is_similar_count, shape

_BITS = 24
_PLACES = 1 << _BITS  # two bits each, so that a table takes 4 MB
_IN_BYTE = 4
_KEY_BITS = 32
_MOST_RECURRING = 131_072
_CACHED_SHAPES = 65_536
_LEAST_EMPTY = 0.9  # of its bytes: fewer than 3 keys of 100 then share a place with another one


class KeyCounts:
    """How often each key came: never, once, or more often."""

    __slots__ = ("_recurring_words", "_shift", "_table", "recurring")

    def __init__(self, *, second: bool = False) -> None:
        """A second table has other collisions than the first, so that both together keep less."""
        self._table = bytearray(_PLACES // _IN_BYTE)
        self._shift = _KEY_BITS - _BITS if second else 0
        self.recurring: set[str] = set()
        """Some patterns all keys of which recur: most signals are of one, and need no look."""
        self._recurring_words: set[tuple[int, ...]] = set()

    @classmethod
    def of_recurring(cls, keys: Iterable[int]) -> KeyCounts:
        """A table of keys that were counted elsewhere, and came more than once."""
        counts = cls()
        for key in keys:
            counts.add((key, key))
        return counts

    def to_bytes(self) -> bytes:
        """The table; `from_bytes` makes it again."""
        return bytes(self._table)

    @classmethod
    def from_bytes(cls, table: bytes) -> KeyCounts:
        """What `to_bytes` gave, of a first table."""
        counts = cls()
        counts._table = bytearray(table)
        return counts

    @property
    def is_crowded(self) -> bool:
        """Whether so many places are taken that keys share them often, which keeps too much."""
        return self._table.count(0) < len(self._table) * _LEAST_EMPTY

    def count(self, repo: str | None, signals: Iterable[Signal], *, words: bool = True) -> None:
        """Count what a session in a repository shows; of errors, their words too."""
        recurring = self.recurring
        unknown = [signal for signal in signals if signal.pattern not in recurring]
        if not unknown:
            return
        self.add(pattern_keys(repo, unknown))
        if words:
            for keys in word_keys(unknown):
                if keys not in self._recurring_words:
                    self.add(keys)
                    if all(map(self.recurs, keys)):
                        self._recurring_words.add(keys)
        if len(recurring) < _MOST_RECURRING:
            recurring.update(signal.pattern for signal in unknown if self._settles(signal, words))

    def _settles(self, signal: Signal, words: bool) -> bool:
        """Whether all keys of a pattern recur, so that its next signals need no look."""
        if signal.about or signal.said is not None or not self.recurs(_hash(signal.pattern)):
            return False
        if not words or signal.type != "recurring_error":
            return True
        return error_keys(signal.locus) in self._recurring_words

    def add(self, keys: Iterable[int]) -> None:
        """Count these keys."""
        table, shift = self._table, self._shift
        for key in keys:
            slot = key >> shift & _PLACES - 1
            bits = slot % _IN_BYTE * 2
            if table[slot // _IN_BYTE] >> bits & 3 < 2:
                table[slot // _IN_BYTE] += 1 << bits

    def recurs(self, key: int) -> bool:
        """Whether the key, or one that shares its slot, came more than once."""
        slot = key >> self._shift & _PLACES - 1
        return self._table[slot // _IN_BYTE] >> slot % _IN_BYTE * 2 & 3 > 1

    def keeps(self, repo: str | None, signal: Signal) -> bool:
        """Whether a second session may show the same, near duplicates left aside."""
        if signal.pattern in self.recurring:
            return True
        table, shift = self._table, self._shift
        for key in signal_keys(repo, signal):
            slot = key >> shift & _PLACES - 1
            if table[slot // _IN_BYTE] >> slot % _IN_BYTE * 2 & 3 > 1:
                return True
        return False

    def keeps_error(self, locus: str) -> bool:
        """Whether enough words of an error are at the same place of another one.

        Errors are grouped with a template that has as many words and begins with the same ones.
        A word of the template is one of an error in the group, or stands for any.
        """
        branch, *words = error_keys(locus)
        if not self.recurs(branch):
            return False
        length = len(error_shape(locus))
        variable = length - len(words)
        return is_similar_count(variable + sum(map(self.recurs, words)), length)


def session_keys(repo: str | None, signals: Sequence[Signal]) -> list[int]:
    """All that is counted of a session in a repository."""
    return [*chain.from_iterable(word_keys(signals)), *pattern_keys(repo, signals)]


def pattern_keys(repo: str | None, signals: Iterable[Signal]) -> set[int]:
    """What to count of a session, but for the words of errors."""
    return {key for signal in signals for key in signal_keys(repo, signal)}


def word_keys(signals: Iterable[Signal]) -> list[tuple[int, ...]]:
    """What to count of the words of each error.

    Each error of a session counts on its own: two that are alike make one group, which must be
    kept or left out as a whole.
    """
    errors = {signal.locus: None for signal in signals if signal.type == "recurring_error"}
    return list(map(error_keys, errors))


def signal_keys(repo: str | None, signal: Signal) -> tuple[int, ...]:
    """Equal for signals that may end up in one candidate; of errors, those with one locus."""
    if signal.said is not None:
        # Statements are compared within a project, and wishes that have a name everywhere.
        intent = signal.said.intent
        return (_hash(f"intent\0{intent}" if intent else f"said\0{repo}"),)
    if not signal.about:
        return (crc32(signal.pattern.encode("utf-8", "surrogatepass")),)
    # Of a cure the problem may be renamed: near duplicates of an error are in one branch.
    start = _hash(f"{signal.type}\0{signal.locus}")
    branch = _branch_key(signal.about, start)
    # One change may help against many errors.
    return (branch, start) if signal.rule and signal.type == "cure" else (branch,)


def error_keys(locus: str) -> tuple[int, ...]:
    """The key of an error's branch, then one for each constant word at its place."""
    return _shape_keys(error_shape(locus))


@lru_cache(maxsize=_CACHED_SHAPES)  # every pass over the evidence asks again
def error_shape(locus: str) -> tuple[str, ...]:
    """The words of an error, with one placeholder for every word that varies."""
    return shape(locus, masked=True)


@lru_cache(maxsize=16_384)
def _shape_keys(words: tuple[str, ...]) -> tuple[int, ...]:
    start = _hash(repr(branch_of(words)))
    return start, *(
        _hash(word, start + place) for place, word in enumerate(words, 1) if word != ANY
    )


@lru_cache(maxsize=16_384)
def _branch_key(locus: str, start: int) -> int:
    return _hash(repr(branch_of(error_shape(locus))), start)


def _hash(text: str, start: int = 0) -> int:
    """The same in every process, unlike `hash`."""
    return crc32(text.encode("utf-8", "surrogatepass"), start & 0xFFFFFFFF)
