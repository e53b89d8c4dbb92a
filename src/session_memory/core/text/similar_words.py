"""Words of an index that stand for a word it does not hold: longer ones, or a letter apart.

Only the part of the vocabulary that begins with the same two letters is read. A slip in the first
two letters is found only where they are swapped.
"""

from __future__ import annotations

from collections.abc import Callable

MOST_SIMILAR = 5
SHORTEST = 4
"""Shorter words are too near to too many others."""
_LONG = 8
"""From here on two slips are allowed."""

Beginning = Callable[[str], list[tuple[str, int]]]
"""Words of the index that begin so and how many rows hold each, the most frequent first."""


def similar_words(beginning: Beginning, word: str) -> list[str]:
    """Words that begin with it; else those that differ by a slip or two, nearest first."""
    if len(word) < SHORTEST:
        return []
    longer = [term for term, _ in beginning(word)]
    if longer:
        return longer[:MOST_SIMILAR]
    allowed = 2 if len(word) >= _LONG else 1
    heads = {word[:2], word[1] + word[0]}
    near = [
        (slips, -count, term)
        for head in sorted(heads)
        for term, count in beginning(head)
        if abs(len(term) - len(word)) <= allowed + 1
        # The index holds stems: an ending that stemming took away is no slip.
        if (slips := min(distance(word, term), distance(word[: len(term)], term))) <= allowed
    ]
    return [term for _, _, term in sorted(near)[:MOST_SIMILAR]]


def distance(one: str, other: str) -> int:
    """How many letters must be added, dropped, changed or swapped with a neighbour."""
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
