"""The vocabulary of the local index, for words that it does not hold.

Nothing besides the index is stored for it, and nothing besides it must forget.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from session_memory.core.text.similar_words import (
    SHORTEST_HEAD,
    SHORTEST_PART,
    Known,
    spellings,
)
from session_memory.core.text.similar_words import similar_words as similar_to
from session_memory.store.sqlite.connection import Database, rows, value

MOST_READ = 20_000
LONGEST_ENDING = 2
MOST_PAGES = 2_000
"""Words inside others are looked for in an index up to this size: all of it is read for them, which
takes about 25 ms for a thousand pages."""


def similar_words(db: Database, words: Sequence[str]) -> dict[str, list[str]]:
    """For each word that the index does not hold, words of it that stand for it, nearest first."""

    @cache
    def long_words() -> Known:
        return _long_words(db)

    return {
        word: similar_to(
            lambda head: _beginning(db, head),
            word,
            lambda part: [term for term in long_words() if part in term[0]],
        )
        for word in words
    }


def other_spellings(db: Database, word: str) -> list[str]:
    """The same word as the index also has it, where its letters can be written otherwise."""
    if word.isascii():
        return []
    by_spelling = {spelling: _beginning(db, spelling) for spelling in spellings(word)}
    return [
        term
        for spelling, terms in by_spelling.items()
        for term, _ in terms[:1]
        if len(term) <= len(spelling) + LONGEST_ENDING
    ]


def _beginning(db: Database, head: str) -> Known:
    """Terms of the index over events that begin so, the most frequent first."""
    selected = rows(
        db,
        f"SELECT term, doc FROM event_word WHERE term >= ? AND term < ? LIMIT {MOST_READ}",
        (head, head + "\U0010ffff"),
    )
    return _most_frequent(selected)


def _long_words(db: Database) -> Known:
    """Terms that can be made of two words; none of a big index."""
    pages = f"SELECT count(*) FROM (SELECT 1 FROM event_text_data LIMIT {MOST_PAGES + 1})"
    if value(db, pages) > MOST_PAGES:
        return []
    wanted = "SELECT term, doc FROM event_word WHERE term >= 'a' AND length(term) >= ?"
    return _most_frequent(rows(db, wanted, (SHORTEST_PART + SHORTEST_HEAD,)))


def _most_frequent(selected: list[tuple[str, int]]) -> Known:
    return sorted(((row[0], row[1]) for row in selected), key=lambda entry: -entry[1])
