"""The baseline beside our search: SQLite FTS5 with stemming, bm25, any word of the question.

This is what anybody gets in ten lines, so a figure of ours says little without it.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from typing import TypeVar

from session_memory.core.text.search_terms import terms_of

Key = TypeVar("Key")


class PlainFts5:
    """Texts by key, in memory; small words are left out as our search leaves them out."""

    def __init__(self, texts: Iterable[tuple[Key, str]]) -> None:
        self._db = sqlite3.connect(":memory:")
        self._db.execute("CREATE VIRTUAL TABLE t USING fts5(x, tokenize='porter unicode61')")
        self._keys: list[object] = []
        with self._db:
            for key, text in texts:
                self._keys.append(key)
                self._db.execute("INSERT INTO t (rowid, x) VALUES (?, ?)", (len(self._keys), text))

    def search(self, question: str, limit: int) -> list[object]:
        """Keys, best first."""
        words = " OR ".join(f'"{word}"' for word in terms_of(question).words)
        if not words:
            return []
        sql = "SELECT rowid FROM t WHERE t MATCH ? ORDER BY bm25(t) LIMIT ?"
        return [self._keys[int(row) - 1] for (row,) in self._db.execute(sql, (words, limit))]
