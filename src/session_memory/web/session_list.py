"""All sessions, newest first, narrowed by what the address says."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from urllib.parse import urlencode

from session_memory.core.schema import Outcome
from session_memory.errors import UsageError
from session_memory.recall.scope import check_agent, find_project
from session_memory.store.values import SessionQuery
from session_memory.web.context import WebContext
from session_memory.web.page import Page, PageRequest

PAGE = 50
FILTERS = ("project", "agent", "outcome", "day", "subagents")
OUTCOMES: tuple[Outcome, ...] = ("success", "partial", "fail", "uncertain")


def sessions_page(web: WebContext, page_request: PageRequest) -> Page:
    """A page of sessions."""
    project, agent, outcome = (
        page_request.word("project"),
        page_request.word("agent"),
        page_request.word("outcome"),
    )
    start = page_request.number("start", 0)
    day = _day(page_request.word("day"))
    query = SessionQuery(
        flavor=agent,
        project=project,
        outcome=outcome,
        include_subagents=bool(page_request.word("subagents")),
        since=_moment(day) if day else None,
        until=_moment(day + timedelta(days=1)) if day else None,
        limit=PAGE + 1,
        offset=start,
    )
    with web.reading() as store:
        check_agent(store, agent)
        projects = store.projects()
        if project is not None:
            find_project(projects, project)
        sessions = store.sessions(query)
        agents = sorted(store.info().per_flavor)
        outcomes = store.outcomes({session.id for session in sessions})
    return Page(
        "sessions.html",
        {
            "sessions": sessions[:PAGE],
            "start": start,
            "kept": urlencode({name: page_request.query.get(name, "") for name in FILTERS}),
            "next": start + PAGE if len(sessions) > PAGE else None,
            "previous": max(0, start - PAGE) if start else None,
            "projects": [each.key for each in projects],
            "agents": agents,
            "outcomes": outcomes,
            "all_outcomes": OUTCOMES,
            "filter": {
                "project": project,
                "agent": agent,
                "outcome": outcome,
                "day": day.isoformat() if day else None,
                "subagents": "1" if query.include_subagents else None,
            },
        },
    )


def _day(text: str | None) -> date | None:
    try:
        return date.fromisoformat(text) if text else None
    except ValueError:
        raise UsageError(f"{text!r} is not a day", hint="a day is written as 2026-03-02") from None


def _moment(day: date) -> int:
    """When a day begins (UTC)."""
    return int(datetime(day.year, day.month, day.day, tzinfo=UTC).timestamp() * 1000)
