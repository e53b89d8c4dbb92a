"""Words of an index that stand for a word it does not hold.

They begin with it, are spelled otherwise (Straße and Strasse, größer and groesser), are a letter or
two apart, or hold it at the end or in the middle, as Zeitüberschreitung holds Überschreitung. For
all but the last, only words with the same first letters are read; a slip in the first two letters
is found only where they are swapped.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable

MOST_SIMILAR = 5
SHORTEST = 4
"""Shorter words are too near to too many others."""
_LONG = 8
"""From here on two slips are allowed."""
SHORTEST_PART = 6
"""Shorter words stand by chance in too many others."""
SHORTEST_HEAD = 3
"""Letters that the first part of a compound has at least."""
_WRITTEN_OUT = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "ß": "ss"})
_TWO_LETTERS = re.compile(r"(?<=[^aeiouq])([aou])e(?=[^aeiou])")
_ENDING = re.compile(r"(?:en|er|es|[ens])$")

Known = list[tuple[str, int]]
"""Words of the index and how many rows hold each, the most frequent first."""
Lookup = Callable[[str], Known]


def similar_words(beginning: Lookup, word: str, holding: Lookup | None = None) -> list[str]:
    """What stands for a word, nearest first.

    `beginning` gives the words that begin so, `holding` those that hold it anywhere.
    """
    if len(word) < SHORTEST:
        return []
    plain = folded(word)
    written = (plain, *spellings(word))
    for head in written:
        longer = [term for term, _ in beginning(head)]
        if longer:
            return longer[:MOST_SIMILAR]
    near = _near(beginning, plain)
    if near or holding is None or len(plain) < SHORTEST_PART or not plain.isalpha():
        return near
    found = (_compounds(holding, each) for each in written)
    return next(filter(None, found), list[str]())


def folded(word: str) -> str:
    """The word as the index spells it: Latin letters without accents and dots."""
    if word.isascii():
        return word
    first = (unicodedata.normalize("NFD", letter)[0] for letter in word)
    return "".join(base if base.isascii() else own for base, own in zip(first, word, strict=True))


def spellings(word: str) -> list[str]:
    """How German spells the same word otherwise, as the index has it."""
    plain = folded(word)
    found = [folded(word.translate(_WRITTEN_OUT))]
    if len(plain) >= SHORTEST_PART:
        shorter = _TWO_LETTERS.sub(r"\1", plain)
        found += [shorter, shorter.replace("ss", "ß")]
    different = [each for each in dict.fromkeys(found) if each != plain and len(each) >= SHORTEST]
    return [each.removesuffix("e") for each in different]  # as the index does: it holds stems


def _near(beginning: Lookup, word: str) -> list[str]:
    """Words that differ by a slip or two."""
    near = [
        (slips, -count, term)
        for head in sorted({word[:2], word[1] + word[0]})
        for term, count in beginning(head)
        if (slips := slips_between(word, term)) is not None
    ]
    return [term for _, _, term in sorted(near)[:MOST_SIMILAR]]


def _compounds(holding: Lookup, word: str) -> list[str]:
    """Words that end with this one, whatever the ending, and after them those that go on."""
    part = _ENDING.sub("", word)
    part = part if len(part) >= SHORTEST_PART else word
    found = [
        (len(term) - at - len(part) > SHORTEST_HEAD, -count, term)
        for term, count in holding(part)
        if (at := term.find(part)) >= SHORTEST_HEAD and term.isalpha()
    ]
    return [term for _, _, term in sorted(found)[:MOST_SIMILAR]]


def slips_between(word: str, term: str) -> int | None:
    """How many slips make one of the other; None where they are too many."""
    allowed = 2 if len(word) >= _LONG else 1
    if abs(len(term) - len(word)) > allowed + 1:
        return None
    # A slip brings one letter at most that the word lacks: this spares most comparisons.
    if len(set(term).difference(word)) > allowed:
        return None
    # The index holds stems: an ending that stemming took away is no slip.
    slips = min(distance(word, term, allowed), distance(word[: len(term)], term, allowed))
    return slips if slips <= allowed else None


def distance(one: str, other: str, most: int | None = None) -> int:
    """How many letters must be added, dropped, changed or swapped with a neighbour.

    Where it is above `most`, that it is.
    """
    one, other = _unequal(one, other)
    if most == 1 and max(len(one), len(other)) > 2:  # one slip leaves a letter, or two swapped
        return 2
    before, last = list[int](), list(range(len(other) + 1))
    for row, letter in enumerate(one, 1):
        current = [row]
        for column, against in enumerate(other, 1):
            cost = min(last[column] + 1, current[-1] + 1, last[column - 1] + (letter != against))
            swapped = row > 1 and column > 1 and letter == other[column - 2]
            if swapped and one[row - 2] == against:
                cost = min(cost, before[column - 2] + 1)
            current.append(cost)
        before, last = last, current
    return last[-1]


def _unequal(one: str, other: str) -> tuple[str, str]:
    """What is left of two words without their equal beginnings and ends."""
    start, most = 0, min(len(one), len(other))
    while start < most and one[start] == other[start]:
        start += 1
    end, most = 0, most - start
    while end < most and one[-1 - end] == other[-1 - end]:
        end += 1
    return one[start : len(one) - end], other[start : len(other) - end]
