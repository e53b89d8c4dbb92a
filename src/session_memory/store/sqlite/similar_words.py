"""The vocabulary of the local index, for words that it does not hold.

Nothing besides the index is stored for it, and nothing besides it must forget.
"""

from __future__ import annotations

from session_memory.core.text.similar_words import similar_words as similar_to
from session_memory.store.sqlite.connection import Database, rows

MOST_READ = 20_000


def similar_words(db: Database, word: str) -> list[str]:
    """Words of the index that are longer than this one or a letter apart, nearest first."""
    return similar_to(lambda head: _beginning(db, head), word)


def _beginning(db: Database, head: str) -> list[tuple[str, int]]:
    """Terms of the index over events that begin so, the most frequent first."""
    selected = rows(
        db,
        f"SELECT term, doc FROM event_word WHERE term >= ? AND term < ? LIMIT {MOST_READ}",
        (head, head + "\U0010ffff"),
    )
    return sorted(((row[0], row[1]) for row in selected), key=lambda found: -found[1])
