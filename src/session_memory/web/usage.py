"""Tokens and dollars by day, project, model or agent."""

from __future__ import annotations

import csv
import io

from session_memory.core.pricing import load_table
from session_memory.errors import NotFound
from session_memory.store.values import UsageGroup, UsageRow
from session_memory.web.charts import bars, stacked
from session_memory.web.context import WebContext
from session_memory.web.page import Download, Page, PageRequest

GROUPS: dict[str, UsageGroup] = {
    "day": "day",
    "project": "project",
    "model": "model",
    "agent": "flavor",
}
TOKENS = ("output", "input", "cache written", "cache read")
SPANS = {"7": "7 days", "30": "30 days", "90": "90 days", "": "all time"}
_DAY_MS = 86_400_000
_COLUMNS = (
    *("usd", "responses", "input", "output", "cache_read", "cache_write_5m", "cache_write_1h"),
    "unpriced_tokens",
)


def usage_page(web: WebContext, page_request: PageRequest) -> Page:
    """A plot, and the table that says the same."""
    by, rows = _rows(web, page_request)
    prices = load_table()
    shown = rows if by == "day" else sorted(rows, key=lambda row: -(row.cost.usd or 0))
    return Page(
        "usage.html",
        {
            "by": by,
            "groups": GROUPS,
            "spans": SPANS,
            "days": page_request.query.get("days", "30"),
            "rows": shown[::-1] if by == "day" else shown,
            "plot": bars(
                [(row.group, row.cost.usd or 0.0) for row in shown], f"US dollars by {by}", "$"
            ),
            "parts": TOKENS,
            "tokens": stacked(
                [(row.group, _tokens(row)) for row in shown], TOKENS, f"Tokens by {by}"
            ),
            "cached": _cached(rows),
            "total": sum(row.cost.usd or 0 for row in rows),
            "unpriced": sum(row.unpriced_tokens for row in rows),
            "prices": prices,
        },
    )


def usage_csv(web: WebContext, page_request: PageRequest) -> Download:
    """The same table for a spreadsheet."""
    by, rows = _rows(web, page_request)
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow([by, *_COLUMNS])
    writer.writerows([_harmless(row.group), *_figures(row)] for row in rows)
    return Download(f"usage-by-{by}.csv", "text/csv", text.getvalue())


def _rows(web: WebContext, page_request: PageRequest) -> tuple[str, list[UsageRow]]:
    by = page_request.word("by") or "day"
    if by not in GROUPS:
        raise NotFound(f"Usage cannot be grouped by {by}", hint=f"by: {', '.join(GROUPS)}")
    days = page_request.number("days", 0 if page_request.query.get("days") == "" else 30)
    since = web.clock() - days * _DAY_MS if days else None
    with web.reading() as store:
        return by, store.usage(GROUPS[by], since, None)


def _tokens(row: UsageRow) -> tuple[int, int, int, int]:
    cost = row.cost
    written = cost.cache_write_5m + cost.cache_write_1h
    return cost.output, cost.input, written, cost.cache_read


def _cached(rows: list[UsageRow]) -> float | None:
    """Which share of what models read came from the cache."""
    read = sum(row.cost.cache_read for row in rows)
    whole = read + sum(row.cost.input + sum(_tokens(row)[2:3]) for row in rows)
    return read / whole if whole else None


def _figures(row: UsageRow) -> list[object]:
    cost = row.cost
    tokens = (cost.input, cost.output, cost.cache_read, cost.cache_write_5m, cost.cache_write_1h)
    return [cost.usd, row.responses, *tokens, row.unpriced_tokens]


def _harmless(cell: str) -> str:
    """A spreadsheet treats a cell that begins like this as a formula."""
    return f"'{cell}" if cell.startswith(("=", "+", "-", "@", "\t", "\r")) else cell
