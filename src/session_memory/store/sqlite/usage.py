"""Tokens and dollars: grouped, and priced later where no price was known."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import date, timedelta
from typing import Any

import msgspec

from session_memory.core.schema import Cost, Usage
from session_memory.store.port import UsageGroup, UsageRow
from session_memory.store.sqlite.connection import Database, Row, rows, schema_version, value

DAY_MS = 86_400_000
_GROUPS: dict[UsageGroup, str] = {
    "day": "u.day",
    "project": "coalesce(project.key, 'no project')",
    "model": "u.model || CASE u.mode WHEN '' THEN '' ELSE ' (' || u.mode || ')' END",
    "flavor": "s.flavor",
    "session": "s.id",  # two agents may use one native id
}
_SLACK_MS = DAY_MS
"""A response may be stamped later than the last event of its session."""
_SUMMED_UP = f"""
SELECT session_id, at / {DAY_MS} AS day, model, mode, count(*), sum(input), sum(output),
  sum(cache_read), sum(cache_write_5m), sum(cache_write_1h), sum(reasoning), sum(usd),
  max(price_table), sum(CASE WHEN usd IS NULL THEN
    input + output + cache_read + cache_write_5m + cache_write_1h ELSE 0 END)
FROM usage WHERE counted = 1 AND
"""
SUMS_SINCE = 21
"""The first schema with sums: a store on a read-only disk may be older."""
_GROUPED = f" GROUP BY session_id, at / {DAY_MS}, model, mode"
"""The order of the index: few rows are left."""
_NOT_SUMMED_UP = "session_id IN (SELECT id FROM session EXCEPT SELECT session_id FROM usage_sum)"
_LISTED = "session_id IN (SELECT value FROM json_each(?))"
_OF_ALL_TIME = (
    f"SELECT * FROM usage_sum UNION ALL SELECT * FROM ({_SUMMED_UP} {_NOT_SUMMED_UP}{_GROUPED})"
)


def usage(db: Database, group: UsageGroup, since: int | None, until: int | None) -> list[UsageRow]:
    """One row per group, in the group's own order."""
    conditions: list[str] = []
    bindings: list[Any] = []
    for condition, wanted in (("at >= ?", since), ("at < ?", until)):
        if wanted is not None:
            conditions.append(condition)
            bindings.append(wanted)
    if since is not None:  # few sessions lived since then, and they have an index
        conditions.append(
            "session_id IN (SELECT id FROM session WHERE ended_at >= ? OR ended_at IS NULL)"
        )
        bindings.append(since - _SLACK_MS)
    if conditions or schema_version(db) < SUMS_SINCE:
        sums = _SUMMED_UP + " AND ".join(conditions or ["true"]) + _GROUPED
    else:
        sums = _OF_ALL_TIME
    sql = f"""
        SELECT {_GROUPS[group]}, u.model, u.*, s.external_id
        FROM ({sums}) u JOIN session s ON s.id = u.session_id
        LEFT JOIN project ON project.id = s.project_id
    """
    by_group: dict[Any, list[Row]] = {}
    for row in rows(db, sql, bindings):
        by_group.setdefault(row[0], []).append((row[0], row[1], *row[6:]))
    made = [_row(group, parts) for parts in by_group.values()]
    return sorted(made, key=lambda row: (row.group, row.session_id or 0))


def sum_up(db: Database, sessions: Iterable[int] | None = None) -> None:
    """Keep the sums of these sessions, or of all that have none."""
    if sessions is None:
        db.execute(f"INSERT INTO usage_sum {_SUMMED_UP} {_NOT_SUMMED_UP}{_GROUPED}")
        return
    listed = (msgspec.json.encode(sorted(sessions)).decode(),)
    db.execute(f"DELETE FROM usage_sum WHERE {_LISTED}", listed)
    db.execute(f"INSERT INTO usage_sum {_SUMMED_UP} {_LISTED}{_GROUPED}", listed)


def _row(group: UsageGroup, parts: list[Row]) -> UsageRow:
    """One row of the parts of a group: of each day, session and model."""
    dollars = [part[9] for part in parts if part[9] is not None]
    tables = [part[10] for part in parts if part[10] is not None]
    key = parts[0][0]
    figures = (sum(part[place] for part in parts) for place in range(3, 9))
    return UsageRow(
        group=parts[0][12] if group == "session" else _day(key) if group == "day" else key,
        responses=sum(part[2] for part in parts),
        cost=Cost(
            *figures, usd=sum(dollars) if dollars else None, price_table=max(tables, default=None)
        ),
        models=tuple(sorted({part[1] for part in parts})),
        unpriced_tokens=sum(part[11] for part in parts),
        session_id=key if group == "session" else None,
    )


def _day(number: int | None) -> str:
    """A day by its number since 1970."""
    if number is None:
        return "undated"
    return (date(1970, 1, 1) + timedelta(days=number)).isoformat()


_UNPRICED = """
SELECT key, session_id, model, at, input, output, cache_read, cache_write_5m, cache_write_1h,
  reasoning, mode FROM usage WHERE usd IS NULL AND stated_usd IS NULL
"""


def price_table(db: Database) -> str | None:
    """Version of the price table that was tried last."""
    tried = value(db, "SELECT value FROM meta WHERE name = 'price_table'")
    return None if tried is None else bytes(tried).decode()


def reprice(db: Database, price: Callable[[Usage], float | None], version: str) -> int:
    """Price responses that have no price; a price table is tried once, and that is recorded."""
    if price_table(db) == version:
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
