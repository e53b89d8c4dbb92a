"""Near-duplicate texts grouped: errors by template, corrections by their words.

Templates come from a token tree, the idea of Drain (fixed depth: number of tokens, then the first
of them, then the most similar group). Texts are taken in sorted order, so that the same texts give
the same groups in any order.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from functools import lru_cache
from math import ceil

import msgspec

from session_memory.core.text.masks import mask
from session_memory.regex_cache import compiled

SIMILAR = 0.5
"""Two texts of one length are the same message if at least this share of tokens is equal."""
SHARED_WORDS = 0.6
"""Two corrections are the same if they share at least this much of all their words."""
_CROWD = 50  # words shared by more groups than this are skipped: they are slow and distinguish none
_LEADING = 2  # tokens that must be equal: messages begin with what they are about
ANY = "<*>"
_SEPARATE = compiled(r"([=,;])")  # not brackets: "()" and "(host)" are one token each
# Variable parts that the masks for prose leave alone: addresses, hosts, ids with digits.
_HOST = compiled(r"^(?:[\w-]+\.)+[a-z]{2,}$", re.I)
_VARIABLE = compiled(r"<(?:time|uuid|url|str|path|hex|n|\*)>|\d")
_LETTERS = compiled(r"[^\W\d_]{2}")


class Group(msgspec.Struct):
    """Texts that differ only in the variable places of their template."""

    template: list[str]
    members: list[str]


def tokens(text: str, *, masked: bool = False) -> tuple[str, ...]:
    """The words of a text, with one placeholder for every word that varies."""
    line = text if masked else mask(text)
    parted = _SEPARATE.sub(r" \1 ", line) if "," in line or "=" in line or ";" in line else line
    return tuple(map(_constant, parted.split()))


@lru_cache(maxsize=16_384)
def _constant(word: str) -> str:
    return ANY if _VARIABLE.search(word) or _HOST.match(word) else word


def is_telling(words: tuple[str, ...]) -> bool:
    """Whether any constant word has letters, and so can say what happened."""
    return any(word != ANY and _LETTERS.search(word) for word in words)


def similarity(first: list[str] | tuple[str, ...], second: list[str] | tuple[str, ...]) -> float:
    """Share of equal tokens at equal positions; 0 for texts of different length."""
    if len(first) != len(second):
        return 0.0
    if not first:
        return 1.0
    return sum(a == b for a, b in zip(first, second, strict=True)) / len(first)


def shape(text: str, *, masked: bool = False) -> tuple[str, ...]:
    """The tokens of a text, or the text itself where no token is constant."""
    words = tokens(text, masked=masked)
    return words if is_telling(words) else (text,)


def branch_of(words: tuple[str, ...]) -> tuple[object, ...]:
    """What texts of one group have in common for certain."""
    # Another option means another error.
    options = tuple(word for word in words if word.startswith("-"))
    return len(words), *words[:_LEADING], options


def is_similar_count(equal: int, words: int) -> bool:
    """Whether so many equal words of so many are enough for one group."""
    return not words or equal / words >= SIMILAR


def group(texts: Iterable[str], *, masked: bool = False) -> list[Group]:
    """Distinct texts grouped, groups and members in sorted order."""
    by_shape: dict[tuple[str, ...], list[str]] = {}
    for text in sorted(set(texts)):
        by_shape.setdefault(shape(text, masked=masked), []).append(text)
    return group_shapes(by_shape)


def group_shapes(by_shape: Mapping[tuple[str, ...], list[str]]) -> list[Group]:
    """Texts by shape, with similar shapes in one group."""
    tree: dict[tuple[object, ...], list[Group]] = {}
    for words in sorted(by_shape):
        branch = tree.setdefault(branch_of(words), [])
        best = max(branch, key=lambda other: similarity(other.template, words), default=None)
        if best is None or similarity(best.template, words) < SIMILAR:
            branch.append(Group(list(words), list(by_shape[words])))
            continue
        best.members += by_shape[words]
        best.template = [a if a == b else ANY for a, b in zip(best.template, words, strict=True)]
    groups = [group for branch in tree.values() for group in branch]
    return sorted(groups, key=lambda group: group.members[0])


def group_by_words(loci: Iterable[str]) -> list[list[str]]:
    """Loci of corrections that share most words, each group around its first, in sorted order.

    Of a locus without near ones only the text is kept: there may be very many.
    """
    ordered = sorted(set(loci))
    common = Counter(word for locus in ordered for word in set(locus.split()))
    followers: dict[str, list[str]] = {}
    by_word: dict[str, list[int]] = {}  # words to the leaders they are the rarest words of
    followed: set[int] = set()
    for number, locus in enumerate(ordered):
        words = frozenset(locus.split())
        # Two sets that share this much share one of the rarest words of each: only those are tried.
        rarest = sorted(words, key=lambda word: (common[word], word))
        prefix = rarest[: len(words) - ceil(SHARED_WORDS * len(words)) + 1]
        near = {leader for word in prefix for leader in by_word.get(word, ())}
        best, alike = None, 0.0
        for leader in sorted(near):
            share = _jaccard(words, frozenset(ordered[leader].split()))
            if share > alike:
                best, alike = leader, share
        if best is not None and alike >= SHARED_WORDS:
            followers.setdefault(ordered[best], []).append(locus)
            followed.add(number)
            continue
        for word in prefix:
            if common[word] > 1 and len(leaders := by_word.setdefault(word, [])) < _CROWD:
                leaders.append(number)
    return [
        [locus, *followers.get(locus, ())]
        for number, locus in enumerate(ordered)
        if number not in followed
    ]


def _jaccard(first: frozenset[str], second: frozenset[str]) -> float:
    shared = len(first & second)
    return shared / max(1, len(first) + len(second) - shared)
