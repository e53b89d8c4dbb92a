"""bm25 for a search within few sessions, as a function of SQLite.

SQLite's own counts the rows of each word in the whole index, for every range of rows it is asked
for. This one gets the counts as arguments, and leaves out the words that only limit the search.
For the same counts both give the same score.
"""

from __future__ import annotations

import math
from typing import Any, Protocol

import msgspec

NAME = "word_score"
K1, B = 1.2, 0.75
LEAST = 1e-6
"""Weight of a word that stands in half of all rows: it says next to nothing."""

_counts = msgspec.json.Decoder(list[int])


class Match(Protocol):
    """What we use of apsw's view on a row that matches."""

    @property
    def phrase_count(self) -> int: ...
    @property
    def row_count(self) -> int: ...
    def column_size(self, col: int = -1) -> int: ...
    def column_total_size(self, col: int = -1) -> int: ...
    def phrase_locations(self, phrase: int) -> list[list[int]]: ...


def word_score(match: Match, *parameters: Any) -> float:
    """The score of a row; the parameter is in how many rows each of the last words stands."""
    counts = _counts.decode(parameters[0])
    rows = match.row_count
    length = match.column_size() * rows / max(1, match.column_total_size())
    score, first = 0.0, match.phrase_count - len(counts)
    for number, count in enumerate(counts, first):
        times = sum(map(len, match.phrase_locations(number)))
        if times:
            score += rarity(rows, count) * times * (K1 + 1) / (times + K1 * (1 - B + B * length))
    return score


def rarity(rows: int, count: int) -> float:
    """The weight of a word that is in `count` of all rows."""
    weight = math.log((rows - count + 0.5) / (count + 0.5)) if count < rows + 0.5 else 0.0
    return weight if weight > 0 else LEAST
