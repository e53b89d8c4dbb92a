"""Texts grouped under templates by a token tree: the same texts give the same groups in any order.

The tree is the idea of Drain (fixed depth: number of tokens, then the first of them, then the most
similar group), fed in sorted order so that no group depends on what was seen first.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache

import msgspec

from session_memory.core.text.masks import mask

SIMILAR = 0.5
"""Share of equal tokens from which on two texts of one length are the same message."""
_LEADING = 2  # tokens that must be equal: messages begin with what they are about
_ANY = "<*>"
_SEPARATE = re.compile(r"([=,;])")  # not brackets: "()" and "(host)" are one place each
# What masks of prose leave alone and machines write often: addresses, hosts, ids with digits.
_HOST = re.compile(r"^(?:[\w-]+\.)+[a-z]{2,}$", re.I)
_VARIABLE = re.compile(r"<(?:time|uuid|url|str|path|hex|n|\*)>|\d")

_LETTERS = re.compile(r"[^\W\d_]{2}")


class Group(msgspec.Struct):
    """Texts that differ only where their template says so."""

    template: list[str]
    members: list[str]


def tokens(text: str, *, masked: bool = False) -> tuple[str, ...]:
    """The words of a text; a word that varies is the same word everywhere."""
    line = text if masked else mask(text)
    parted = _SEPARATE.sub(r" \1 ", line) if "," in line or "=" in line or ";" in line else line
    return tuple(map(_constant, parted.split()))


@lru_cache(maxsize=16_384)
def _constant(word: str) -> str:
    return _ANY if _VARIABLE.search(word) or _HOST.match(word) else word


def is_telling(words: tuple[str, ...]) -> bool:
    """Whether any word says what happened, and not only with what."""
    return any(word != _ANY and _LETTERS.search(word) for word in words)


def similarity(one: list[str] | tuple[str, ...], other: list[str] | tuple[str, ...]) -> float:
    """Share of equal places; texts of different length have nothing in common."""
    if len(one) != len(other):
        return 0.0
    if not one:
        return 1.0
    return sum(a == b for a, b in zip(one, other, strict=True)) / len(one)


def shape(text: str, *, masked: bool = False) -> tuple[str, ...]:
    """Its words; the text itself where no word is constant: there is nothing to be alike in."""
    words = tokens(text, masked=masked)
    return words if is_telling(words) else (text,)


def group(texts: Iterable[str], *, masked: bool = False) -> list[Group]:
    """Distinct texts grouped, groups and members in sorted order."""
    same: dict[tuple[str, ...], list[str]] = {}
    for text in sorted(set(texts)):
        same.setdefault(shape(text, masked=masked), []).append(text)
    return joined(same)


def joined(same: Mapping[tuple[str, ...], list[str]]) -> list[Group]:
    """Texts by their shape, those of similar shapes grouped."""
    tree: dict[tuple[object, ...], list[Group]] = {}
    for words in sorted(same):
        branch = tree.setdefault((len(words), *words[:_LEADING]), [])
        best = max(branch, key=lambda known: similarity(known.template, words), default=None)
        if best is None or similarity(best.template, words) < SIMILAR:
            branch.append(Group(list(words), list(same[words])))
            continue
        best.members += same[words]
        best.template = [a if a == b else _ANY for a, b in zip(best.template, words, strict=True)]
    found = [one for branch in tree.values() for one in branch]
    return sorted(found, key=lambda one: one.members[0])
