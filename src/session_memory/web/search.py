"""Search over all agents while typing; `fix` comes first if the text is an error."""

from __future__ import annotations

import re
from typing import get_args
from urllib.parse import urlencode

import msgspec

from session_memory.core.event_ids import SEQ_MASK
from session_memory.core.schema import EventKind, Session
from session_memory.core.text.search_terms import terms_of
from session_memory.detect.fix import Fix, fix
from session_memory.errors import Refused
from session_memory.recall.requests import SearchRequest
from session_memory.recall.same_words import stem
from session_memory.recall.search import FoundItem, search
from session_memory.store.port import Store
from session_memory.store.saved_searches import SavedSearch, drop_search, read_saved, save_search
from session_memory.web.context import WebContext
from session_memory.web.page import GoTo, Page, PageRequest

LIMIT, MORE = 20, 50
SPANS = {"7": "7 days", "30": "30 days", "90": "90 days", "365": "a year"}
FIELDS = ("q", "project", "agent", "kind", "tool", "file", "days", "errors")
"""The fields of a search; its address holds all of them."""
_DAY_MS = 86_400_000
_NAME_CHARS = 80
_ERROR = re.compile(
    r"error|exception|fail|not found|no such|no matches|cannot|can't|denied|refused|traceback|panic"
    r"|fatal|unknown|unrecogni[sz]ed|undefined|invalid|unexpected|timed out",
    re.IGNORECASE,
)
"""Words of a query that asks for a cure."""
KINDS: tuple[EventKind, ...] = get_args(EventKind)


class ShownHit(msgspec.Struct, frozen=True):
    """A hit and why it matches."""

    item: FoundItem
    seq: int | None
    """Its event in the session."""
    why: str

    @property
    def times(self) -> int:
        """How often it was said; a list of what is newest does not count it."""
        count = self.item.duplicate_count
        return count if isinstance(count, int) else 1


def search_page(web: WebContext, page_request: PageRequest) -> Page:
    """The best hits first; all hits of one session stand together, at the place of the best."""
    words = page_request.query.get("q", "").strip()
    request = _request(web, page_request, words)
    with web.recall() as context:
        store = context.store
        projects = [project.key for project in store.projects()]
        agents = sorted(store.info().per_flavor)
        answer = search(context, request) if words else None
        known_fix = fix(store.patterns, words) if _ERROR.search(words) else None
        places = _places(store, known_fix)
        items = answer.items if answer else ()
        numbers = {item.session_id for item in items if item.session_id is not None}
        sessions = {number: store.session(number) for number in numbers}
    query_words = terms_of(words).words
    groups: dict[int, list[ShownHit]] = {}
    lines = [_hit(item, query_words) for item in items if item.memory_kind in ("memory", "article")]
    for item in items:
        if item.session_id is not None and item.memory_kind not in ("memory", "article"):
            groups.setdefault(item.session_id, []).append(_hit(item, query_words))
    return Page(
        "search.html",
        {
            "words": words,
            "groups": [(sessions[number], hits) for number, hits in groups.items()],
            "lines": lines,
            "matched": [stem(word) for word in query_words if len(word) > 2],
            "fix": known_fix,
            "places": places,
            "more": len(items) >= LIMIT and request.limit < MORE,
            "address": urlencode({**page_request.query, "more": "1"}),
            "spans": SPANS,
            "projects": projects,
            "agents": agents,
            "kinds": KINDS,
            "filter": {name: page_request.word(name) for name in FIELDS},
            "saved": _saved(web),
            "note": page_request.query.get("note", ""),
        },
    )


def keep_search(web: WebContext, page_request: PageRequest) -> GoTo:
    """Save a search under its words, or under a name of its own."""
    fields = {name: value for name in FIELDS if (value := page_request.form.get(name, "").strip())}
    name = page_request.form.get("name", "").strip()[:_NAME_CHARS] or fields.get("q", "")
    if not fields or not name:
        raise Refused("An empty search cannot be saved", hint="type some words first")
    save_search(web.paths.data, SavedSearch(name, fields))
    return GoTo(f"/search?{urlencode(fields)}", "It is saved.")


def forget_search(web: WebContext, page_request: PageRequest) -> GoTo:
    """Drop a saved search."""
    drop_search(web.paths.data, page_request.form.get("name", ""))
    return GoTo("/search", "It is no longer saved.")


def _request(web: WebContext, page_request: PageRequest, words: str) -> SearchRequest:
    kind = page_request.word("kind")
    days = page_request.number("days", 0)
    return SearchRequest(
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


def _hit(item: FoundItem, query_words: tuple[str, ...]) -> ShownHit:
    seq = None if item.turn_id is None else item.turn_id & SEQ_MASK
    return ShownHit(item, seq, _why(f"{item.title} {item.summary}", query_words))


def _why(text: str, query_words: tuple[str, ...]) -> str:
    """Which words of the query are in the text shown, and which only in the rest of it."""
    shown_text = text.casefold()
    shown_words = [word for word in query_words if stem(word) in shown_text]
    if len(shown_words) == len(query_words):
        return "all your words" if len(query_words) > 1 else ""
    return (
        f"of your words: {', '.join(shown_words)}" if shown_words else "your words stand around it"
    )


def _saved(web: WebContext) -> list[tuple[str, str]]:
    """Saved searches with their addresses."""
    return [(each.name, f"/search?{urlencode(each.fields)}") for each in read_saved(web.paths.data)]


def _places(store: Store, known_fix: Fix | None) -> dict[str, Session]:
    """By their own id, the sessions in which a cure worked."""
    quotes = [cure.quotes[0] for cure in known_fix.cures if cure.quotes] if known_fix else []
    sessions = {quote.session: store.own_session(quote.session, quote.flavor) for quote in quotes}
    return {name: session for name, session in sessions.items() if session is not None}
