"""All sessions, newest first, narrowed by what the address says."""

from __future__ import annotations

from session_memory.core.schema import Outcome
from session_memory.recall.scope import check_agent, find_project
from session_memory.store.values import SessionQuery
from session_memory.web.context import WebContext
from session_memory.web.page import Page, PageRequest

PAGE = 50
OUTCOMES: tuple[Outcome, ...] = ("success", "partial", "fail", "uncertain")


def sessions_page(web: WebContext, page_request: PageRequest) -> Page:
    """A page of sessions."""
    project, agent, outcome = (
        page_request.word("project"),
        page_request.word("agent"),
        page_request.word("outcome"),
    )
    start = page_request.number("start", 0)
    query = SessionQuery(
        flavor=agent,
        project=project,
        outcome=outcome,
        include_subagents="subagents" in page_request.query,
        limit=start + PAGE + 1,
    )
    with web.reading() as store:
        check_agent(store, agent)
        projects = store.projects()
        if project is not None:
            find_project(projects, project)
        sessions = store.sessions(query)
        agents = sorted(store.info().per_flavor)
        outcomes = store.outcomes()
    return Page(
        "sessions.html",
        {
            "sessions": sessions[start : start + PAGE],
            "start": start,
            "next": start + PAGE if len(sessions) > start + PAGE else None,
            "previous": max(0, start - PAGE) if start else None,
            "projects": [each.key for each in projects],
            "agents": agents,
            "outcomes": outcomes,
            "all_outcomes": OUTCOMES,
            "filter": {"project": project, "agent": agent, "outcome": outcome},
        },
    )
