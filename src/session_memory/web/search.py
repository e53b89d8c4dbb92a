"""Search over all agents, as one types; `fix` stands first where the text is an error."""

from __future__ import annotations

from itertools import groupby
from typing import get_args

from session_memory.core.event_ids import SEQ_MASK
from session_memory.core.schema import EventKind, Session
from session_memory.recall.requests import SearchRequest
from session_memory.recall.search import FoundItem, search
from session_memory.web.context import WebContext
from session_memory.web.page import Asked, Page

LIMIT = 30
KINDS: tuple[EventKind, ...] = get_args(EventKind)


def search_page(web: WebContext, asked: Asked) -> Page:
    """The best hits first; neighbours of one session stand together."""
    words = asked.query.get("q", "").strip()
    kind = asked.word("kind")
    request = SearchRequest(
        query=words,
        project_key=asked.word("project"),
        flavor=asked.word("agent"),
        kinds=tuple(each for each in KINDS if each == kind),
        tool=asked.word("tool"),
        file=asked.word("file"),
        errors_only="errors" in asked.query,
        limit=LIMIT,
    )
    groups: list[tuple[Session, list[FoundItem]]] = []
    with web.recall() as context:
        store = context.store
        projects = [project.key for project in store.projects()]
        agents = sorted(store.info().per_flavor)
        answer = search(context, request) if words else None
        items = answer.items if answer else ()
        for number, hits in groupby(items, key=lambda item: item.session_id):
            groups.append((store.session(number), list(hits)))
    return Page(
        "search.html",
        {
            "words": words,
            "groups": groups,
            "mask": SEQ_MASK,
            "projects": projects,
            "agents": agents,
            "kinds": KINDS,
            "filter": {
                "project": request.project_key,
                "agent": request.flavor,
                "kind": kind,
                "tool": request.tool,
                "file": request.file,
                "errors": request.errors_only,
            },
        },
    )
