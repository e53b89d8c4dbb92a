"""The first page: what happened lately, what it cost, and what waits for the user."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import msgspec

from session_memory.core.schema import Session
from session_memory.overview import Step, read_overview
from session_memory.store.values import SessionQuery
from session_memory.web.charts import WEEKS, day_of, heat_map
from session_memory.web.context import WebContext
from session_memory.web.page import Page, PageRequest

_WEEK_MS = 7 * 86_400_000
_LATEST = 12
_GROUPS = 8
_PAGES = {
    "session-memory rules review": "/rules",
    "session-memory project memory review": "/memory",
    "session-memory resume": "/privacy#capture",
    "session-memory jobs": "/privacy#jobs",
    "session-memory status": "/privacy#capture",
    "session-memory doctor": "/health",
}
"""Where the page does what a command of the overview does."""


class Lately(msgspec.Struct):
    """The sessions of a week in one project, or of one agent."""

    name: str
    sessions: int = 0
    succeeded: int = 0
    usd: float | None = None
    """None where no price is known."""


def home(web: WebContext, _page_request: PageRequest) -> Page:
    """Everything at a glance."""
    now = web.clock()
    overview = read_overview(web.paths, now, web.reading, web.config.curate, detect=False)
    with web.reading() as store:
        latest = store.sessions(SessionQuery(include_subagents=False, limit=_LATEST))
        week = store.sessions(SessionQuery(since=now - _WEEK_MS, include_subagents=False))
        costs = [
            store.usage("project", now - n * _WEEK_MS, now - (n - 1) * _WEEK_MS) for n in (1, 2)
        ]
        counts = store.sessions_by_day(now - WEEKS * _WEEK_MS)
        outcomes = store.outcomes({session.id for session in (*latest, *week)})
    this_week, last_week = (sum(row.cost.usd or 0 for row in rows) for rows in costs)
    return Page(
        "home.html",
        {
            "overview": overview,
            "waits": [
                (step, _PAGES.get(step.command)) for step in (*overview.waits, *_doctor(web))
            ],
            "latest": latest,
            "outcomes": outcomes,
            "heat": heat_map(counts, day_of(now)),
            "days": sorted(counts.items(), reverse=True)[:14],
            "week_sessions": len(week),
            "week_usd": this_week,
            "last_week_usd": last_week,
            "projects": _lately(
                week, outcomes, lambda session: session.project_key or "no project"
            ),
            "agents": _lately(week, outcomes, lambda session: session.flavor),
        },
    )


def _doctor(web: WebContext) -> Iterable[Step]:
    """What the last check of this run found; home does not wait for a new one."""
    if found := web.health.problems:
        yield Step(
            "session-memory doctor", f"{found} finding{'s' * (found != 1)} of the last check"
        )


def _lately(
    sessions: Iterable[Session], outcomes: dict[int, str], group: Callable[[Session], str]
) -> list[Lately]:
    groups: dict[str, Lately] = {}
    for session in sessions:
        name = group(session)
        each = groups.setdefault(name, Lately(name))
        each.sessions += 1
        each.succeeded += outcomes.get(session.id) == "success"
        if session.cost.usd is not None:
            each.usd = (each.usd or 0.0) + session.cost.usd
    return sorted(groups.values(), key=lambda each: (-(each.usd or 0.0), -each.sessions))[:_GROUPS]
