"""Full-text search over both indexes, fused by reciprocal rank."""

from __future__ import annotations

import re

from session_memory.store.sqlite.connection import Database, rows

FUSION = 5
"""A small constant: being first in one index outweighs being tenth in both (measured on LoCoMo)."""
_WORD = re.compile(r"\w+")
_MAX_TERMS = 32


def search(db: Database, query: str, limit: int) -> list[tuple[int, float]]:
    """(event id, score), best first. Words are quoted: no query syntax reaches the index."""
    words = list(dict.fromkeys(_WORD.findall(query.lower())))[:_MAX_TERMS]
    if not words:
        return []
    scores: dict[int, float] = {}
    for table in ("event_text", "turn_text"):
        ranked = _ranked(db, table, words, " AND ", limit * 3)
        if len(ranked) < limit:
            seen = set(ranked)
            either = _ranked(db, table, words, " OR ", limit * 3)
            ranked += [found for found in either if found not in seen]
        for place, event_id in enumerate(ranked):
            scores[event_id] = scores.get(event_id, 0.0) + 1 / (FUSION + place)
    best = sorted(scores.items(), key=lambda item: (-item[1], item[0]))
    return best[:limit]


def _ranked(db: Database, table: str, words: list[str], operator: str, limit: int) -> list[int]:
    expression = operator.join(f'"{word}"' for word in words)
    found = rows(
        db,
        f"SELECT rowid FROM {table} WHERE {table} MATCH ? ORDER BY rank LIMIT ?",
        (expression, limit),
    )
    return [row[0] for row in found]
