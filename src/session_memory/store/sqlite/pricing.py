"""Responses that had no price when they were read, priced once a later table knows their model."""

from __future__ import annotations

from collections.abc import Callable

from session_memory.core.schema import Usage
from session_memory.store.sqlite.connection import Database, rows, value

_UNPRICED = """
SELECT key, session_id, model, at, input, output, cache_read, cache_write_5m, cache_write_1h,
  reasoning FROM usage WHERE usd IS NULL AND stated_usd IS NULL
"""


def reprice(db: Database, price: Callable[[Usage], float | None], version: str) -> int:
    """Price what has none; a table that looked once is noted, so that it does not look again."""
    looked = value(db, "SELECT value FROM meta WHERE name = 'price_table'")
    if looked is not None and bytes(looked).decode() == version:
        return 0
    db.execute("INSERT OR REPLACE INTO meta VALUES ('price_table', ?)", (version.encode(),))
    priced = [
        (usd, version, key, session_id)
        for key, session_id, *told in rows(db, _UNPRICED)
        if (usd := price(Usage("", *told))) is not None
    ]
    db.executemany(
        "UPDATE usage SET usd = ?, price_table = ? WHERE key = ? AND session_id = ?", priced
    )
    # A digest holds the cost of its session: it is made anew where its raw text still is.
    db.executemany(
        "UPDATE session SET state = 'captured' WHERE id = ? AND state = 'analyzed'",
        [(session_id,) for session_id in sorted({row[3] for row in priced})],
    )
    return len(priced)
