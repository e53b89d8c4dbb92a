"""The first page: what happened lately, what it cost, and what waits for the user."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta

from session_memory.overview import read_overview
from session_memory.store.values import SessionQuery
from session_memory.web.charts import WEEKS, day_of, heat_map
from session_memory.web.context import WebContext
from session_memory.web.page import Page, PageRequest

_WEEK_MS = 7 * 86_400_000
_LATEST = 12
_PAGES = {
    "session-memory rules review": "/rules",
    "session-memory resume": "/privacy#capture",
    "session-memory jobs": "/privacy#jobs",
    "session-memory status": "/privacy#capture",
}
"""Where the page does what a command of the overview does."""


def home(web: WebContext, _page_request: PageRequest) -> Page:
    """Everything at a glance."""
    now = web.clock()
    today = day_of(now)
    since = now - WEEKS * _WEEK_MS
    overview = read_overview(web.paths, now, web.reading, web.config.curate)
    with web.reading() as store:
        info = store.info()
        latest = store.sessions(SessionQuery(include_subagents=False, limit=_LATEST))
        recent = store.sessions(SessionQuery(since=since, include_subagents=False))
        week = store.usage("project", now - _WEEK_MS, None)
        outcomes = store.outcomes()
    started = [session.started_at for session in recent if session.started_at is not None]
    counts = Counter(map(day_of, started))
    this_week = {today - timedelta(days=back) for back in range(7)}
    return Page(
        "home.html",
        {
            "info": info,
            "waits": [(step, _PAGES.get(step.command)) for step in overview.waits],
            "latest": latest,
            "outcomes": outcomes,
            "heat": heat_map(counts, today),
            "days": sorted(counts.items(), reverse=True)[:14],
            "week_sessions": sum(counts[day] for day in this_week),
            "week": sorted(week, key=lambda row: -(row.cost.usd or 0))[:8],
            "week_usd": sum(row.cost.usd or 0 for row in week),
        },
    )
