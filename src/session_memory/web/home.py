"""The first page: what happened lately, what it cost, and what waits for the user."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import msgspec

from session_memory.core.schema import Session
from session_memory.curate.freshness import is_current
from session_memory.overview import Step, read_overview
from session_memory.store.values import SessionQuery, UsageRow
from session_memory.web.charts import WEEKS, day_of, heat_map
from session_memory.web.context import WebContext
from session_memory.web.page import Page, PageRequest

_WEEK_MS = 7 * 86_400_000
_LATEST = 12
_GROUPS = 8
_NO_PROJECT = "no project"
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
        by_project, by_agent = (
            store.usage(by, now - _WEEK_MS, now) for by in ("project", "flavor")
        )
        before = store.usage("project", now - 2 * _WEEK_MS, now - _WEEK_MS)
        counts = store.sessions_by_day(now - WEEKS * _WEEK_MS)
        outcomes = store.outcomes({session.id for session in (*latest, *week)})
        looked_through = is_current(web.paths, store)
    return Page(
        "home.html",
        {
            "overview": overview,
            "waits": [
                (step, _PAGES.get(step.command)) for step in (*overview.waits, *_doctor(web))
            ],
            "looked_through": looked_through,
            "checked": bool(web.health.at),
            "latest": latest,
            "outcomes": outcomes,
            "heat": heat_map(counts, day_of(now)),
            "days": sorted(counts.items(), reverse=True)[:14],
            "week_sessions": len(week),
            "week_usd": _dollars(by_project),
            "last_week_usd": _dollars(before),
            "projects": _lately(week, outcomes, by_project, _project),
            "agents": _lately(week, outcomes, by_agent, lambda session: session.flavor),
        },
    )


def _doctor(web: WebContext) -> Iterable[Step]:
    """What the last check of this run found; home does not wait for a new one."""
    if count := web.health.problems:
        yield Step(
            "session-memory doctor", f"{count} finding{'s' * (count != 1)} of the last check"
        )


def _project(session: Session) -> str:
    return session.project_key or _NO_PROJECT


def _dollars(rows: Iterable[UsageRow]) -> float:
    return sum(row.cost.usd or 0 for row in rows)


def _lately(
    sessions: Iterable[Session],
    outcomes: dict[int, str],
    usage: Iterable[UsageRow],
    group: Callable[[Session], str],
) -> list[Lately]:
    """Sessions of a week by group; its cost is that of the week, with all sub-agents."""
    usd = {row.group: row.cost.usd for row in usage}
    groups: dict[str, Lately] = {}
    for session in sessions:
        name = group(session)
        each = groups.setdefault(name, Lately(name, usd=usd.get(name)))
        each.sessions += 1
        each.succeeded += outcomes.get(session.id) == "success"
    return sorted(groups.values(), key=lambda each: (-(each.usd or 0.0), -each.sessions))[:_GROUPS]
