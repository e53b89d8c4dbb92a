"""Search over all agents, as one types; `fix` stands first where the text is an error."""

from __future__ import annotations

import re
from itertools import groupby
from typing import get_args
from urllib.parse import urlencode

from session_memory.core.event_ids import SEQ_MASK
from session_memory.core.schema import EventKind, Session
from session_memory.core.text.search_terms import terms_of
from session_memory.detect.fix import Fix, fix
from session_memory.recall.requests import SearchRequest
from session_memory.recall.same_words import stem
from session_memory.recall.search import FoundItem, search
from session_memory.store.port import Store
from session_memory.web.context import WebContext
from session_memory.web.page import Page, PageRequest

LIMIT, MORE = 20, 50
SPANS = {"7": "7 days", "30": "30 days", "90": "90 days"}
_DAY_MS = 86_400_000
_ERROR = re.compile(
    r"error|exception|fail|not found|no such|cannot|can't|denied|refused|traceback|panic|fatal",
    re.IGNORECASE,
)
"""Words of a query that asks for a cure."""
KINDS: tuple[EventKind, ...] = get_args(EventKind)


def search_page(web: WebContext, page_request: PageRequest) -> Page:
    """The best hits first; neighbours of one session stand together."""
    words = page_request.query.get("q", "").strip()
    kind = page_request.word("kind")
    days = page_request.number("days", 0)
    request = SearchRequest(
        query=words,
        project_key=page_request.word("project"),
        flavor=page_request.word("agent"),
        kinds=tuple(each for each in KINDS if each == kind),
        tool=page_request.word("tool"),
        file=page_request.word("file"),
        errors_only="errors" in page_request.query,
        since=web.clock() - days * _DAY_MS if days else None,
        limit=MORE if "more" in page_request.query else LIMIT,
    )
    groups: list[tuple[Session, list[FoundItem]]] = []
    with web.recall() as context:
        store = context.store
        projects = [project.key for project in store.projects()]
        agents = sorted(store.info().per_flavor)
        answer = search(context, request) if words else None
        known_fix = fix(store.patterns, words) if _ERROR.search(words) else None
        places = _places(store, known_fix)
        items = answer.items if answer else ()
        for number, hits in groupby(items, key=lambda item: item.session_id):
            groups.append((store.session(number), list(hits)))
    return Page(
        "search.html",
        {
            "words": words,
            "groups": groups,
            "matched": [stem(word) for word in terms_of(words).words if len(word) > 2],
            "fix": known_fix,
            "places": places,
            "more": len(items) >= LIMIT and request.limit < MORE,
            "address": urlencode({**page_request.query, "more": "1"}),
            "spans": SPANS,
            "mask": SEQ_MASK,
            "projects": projects,
            "agents": agents,
            "kinds": KINDS,
            "filter": {
                "project": request.project_key,
                "agent": request.flavor,
                "kind": kind,
                "days": str(days) if days else "",
                "tool": request.tool,
                "file": request.file,
                "errors": request.errors_only,
            },
        },
    )


def _places(store: Store, known_fix: Fix | None) -> dict[str, Session]:
    """By their own id, the sessions in which a cure worked."""
    quotes = [cure.quotes[0] for cure in known_fix.cures if cure.quotes] if known_fix else []
    found = {quote.session: store.own_session(quote.session, quote.flavor) for quote in quotes}
    return {name: session for name, session in found.items() if session is not None}
