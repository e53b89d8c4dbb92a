"""Tokens and dollars: grouped, and priced later where no price was known."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from session_memory.core.schema import Cost, Usage
from session_memory.store.port import UsageGroup, UsageRow
from session_memory.store.sqlite.connection import Database, rows, value

_GROUPS: dict[UsageGroup, str] = {
    "day": "coalesce(strftime('%Y-%m-%d', u.at / 1000, 'unixepoch'), 'undated')",
    "project": "coalesce(project.key, 'no project')",
    "model": "u.model || CASE u.mode WHEN '' THEN '' ELSE ' (' || u.mode || ')' END",
    "flavor": "s.flavor",
    "session": "s.external_id",
}


def usage(db: Database, group: UsageGroup, since: int | None, until: int | None) -> list[UsageRow]:
    """One row per group, in the group's own order."""
    conditions = ["u.counted = 1"]
    bindings: list[Any] = []
    for condition, wanted in (("u.at >= ?", since), ("u.at < ?", until)):
        if wanted is not None:
            conditions.append(condition)
            bindings.append(wanted)
    by = "s.id" if group == "session" else "1"  # two agents may use one native id
    sql = f"""
        SELECT {_GROUPS[group]}, count(*), sum(u.input), sum(u.output), sum(u.cache_read),
          sum(u.cache_write_5m), sum(u.cache_write_1h), sum(u.reasoning), sum(u.usd),
          max(u.price_table), group_concat(DISTINCT u.model),
          sum(CASE WHEN u.usd IS NULL THEN
            u.input + u.output + u.cache_read + u.cache_write_5m + u.cache_write_1h ELSE 0 END),
          min(s.id)
        FROM usage u JOIN session s ON s.id = u.session_id
        LEFT JOIN project ON project.id = s.project_id
        WHERE {" AND ".join(conditions)} GROUP BY {by} ORDER BY 1, {by}
    """
    return [
        UsageRow(
            group=row[0],
            responses=row[1],
            cost=Cost(*row[2:8], usd=row[8], price_table=row[9]),
            models=tuple(sorted((row[10] or "").split(","))),
            unpriced_tokens=row[11],
            session_id=row[12] if group == "session" else None,
        )
        for row in rows(db, sql, bindings)
    ]


_UNPRICED = """
SELECT key, session_id, model, at, input, output, cache_read, cache_write_5m, cache_write_1h,
  reasoning, mode FROM usage WHERE usd IS NULL AND stated_usd IS NULL
"""


def reprice(db: Database, price: Callable[[Usage], float | None], version: str) -> int:
    """Price responses that have no price; a price table is tried once, and that is recorded."""
    tried = value(db, "SELECT value FROM meta WHERE name = 'price_table'")
    if tried is not None and bytes(tried).decode() == version:
        return 0
    db.execute("INSERT OR REPLACE INTO meta VALUES ('price_table', ?)", (version.encode(),))
    priced = [
        (usd, version, key, session_id)
        for key, session_id, *figures, mode in rows(db, _UNPRICED)
        if (usd := price(Usage("", *figures, mode=mode))) is not None
    ]
    db.executemany(
        "UPDATE usage SET usd = ?, price_table = ? WHERE key = ? AND session_id = ?", priced
    )
    # A digest holds the cost of its session: it is made again where its raw text is still here.
    db.executemany(
        "UPDATE session SET state = 'captured' WHERE id = ? AND state = 'analyzed'",
        [(session_id,) for session_id in sorted({row[3] for row in priced})],
    )
    return len(priced)
