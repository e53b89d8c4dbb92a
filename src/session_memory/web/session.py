"""One session: its prompts as an outline, its events page by page, and what was made of it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import msgspec

from session_memory.core.file_edits import FileDiff, edits_in
from session_memory.core.schema import Session, SessionEvent
from session_memory.core.text.masks import excerpt
from session_memory.errors import NotFound
from session_memory.export.markdown import file_name, session_parts
from session_memory.store.port import Store
from session_memory.web.charts import bars
from session_memory.web.context import WebContext
from session_memory.web.html import moment
from session_memory.web.page import Download, Page, PageRequest
from session_memory.web.session_events import (
    TITLE_CHARS,
    event_marks,
    event_text,
    event_title,
    shown_events,
)

PAGE = 200
OUTLINE = 400
_SPANS = 24
_MOST_EDITS = 500


class Heading(msgspec.Struct, frozen=True):
    """A prompt of the outline."""

    seq: int
    title: str
    start: int
    """The page of events that it is on."""


class Span(msgspec.Struct):
    """What was used in a part of the session's time."""

    begin: int
    tokens: int = 0
    usd: float = 0.0


def session_page(web: WebContext, page_request: PageRequest) -> Page:
    """The session; `at` is the number of an event to begin with, `find` narrows the events."""
    find = page_request.query.get("find", "").strip()
    with web.reading() as store:
        session = store.find_session(page_request.path["session"])
        everything = list(store.events(session.id, texts=bool(find)))
        events = _matching(store, everything, find)
        start = _start(events, page_request)
        digest, children = store.digest(session.id), _children(store, session)
        marks = event_marks(store, session, digest, children)
        shown = shown_events(store, events[start : start + PAGE], marks)
        outline = _outline(store, everything)
        outcomes = {
            child.id: child_digest.outcome
            for child in children
            if (child_digest := store.digest(child.id))
        }
    spans = _spans(everything)
    return Page(
        "session.html",
        {
            "session": session,
            "digest": digest,
            "events": shown,
            "outline": outline,
            "children": children,
            "outcomes": outcomes,
            "find": find,
            "words": find.split(),
            "start": start,
            "page": PAGE,
            "total": len(events),
            "spans": spans,
            "plot": bars([(moment(span.begin), span.tokens) for span in spans], "Tokens over time"),
        },
    )


def event_page(web: WebContext, page_request: PageRequest) -> Page:
    """One event with all of its text."""
    with web.reading() as store:
        session = store.find_session(page_request.path["session"])
        wanted = page_request.path["event"]
        events = [event for event in store.events(session.id) if str(event.seq) == wanted]
        if not events:
            raise NotFound(f"Event {wanted} is not in this session")
        marks = event_marks(store, session, store.digest(session.id), ())
        (event,) = shown_events(store, events[:1], marks, None)
    return Page("event.html", {"session": session, "event": event})


def diff_page(web: WebContext, page_request: PageRequest) -> Page:
    """Every edit of the session, by file; the digest's files where the log holds no text."""
    with web.reading() as store:
        session = store.find_session(page_request.path["session"])
        digest = store.digest(session.id)
        events = list(store.events(session.id))
        failed = {event.call_id for event in events if event.is_error and event.call_id}
        calls = [
            event
            for event in events
            if event.kind == "tool_call"
            and event.tool_class == "edit"
            and event.call_id not in failed
        ]
        edits = [
            (event, edit)
            for event in calls[:_MOST_EDITS]
            for edit in edits_in(event_text(store, event), event.files)
        ]
    files: dict[str, list[tuple[int, FileDiff]]] = defaultdict(list)
    for event, edit in edits:
        files[edit.path].append((event.seq, edit))
    kept = digest.files if digest else {}
    return Page(
        "session_diff.html",
        {
            "session": session,
            "files": files,
            "left_out": len(calls) - _MOST_EDITS,
            "others": [path for path, count in kept.items() if count and path not in files],
        },
    )


def session_markdown(web: WebContext, page_request: PageRequest) -> Download:
    """The whole session as Markdown, redacted like the store."""
    with web.reading() as store:
        session = store.find_session(page_request.path["session"])
        text = "".join(session_parts(store, session))
    return Download(file_name(session), "text/markdown", text)


def _children(store: Store, session: Session) -> list[Session]:
    numbers = sorted(store.with_subagents({session.id}) - {session.id})
    return [child for child in map(store.session, numbers) if child.parent_id == session.id]


def _matching(store: Store, events: list[SessionEvent], find: str) -> list[SessionEvent]:
    """The events that hold every word, in whatever case."""
    words = find.casefold().split()
    if not words:
        return events
    return [
        event
        for event in events
        if (text := f"{event_title(event)}\n{event_text(store, event)}".casefold())
        and all(word in text for word in words)
    ]


def _start(events: Sequence[SessionEvent], page_request: PageRequest) -> int:
    """Where the page of events begins: a place in the list, or the event that was named."""
    named = page_request.number("at", -1)
    if named >= 0:
        place = next((n for n, event in enumerate(events) if event.seq == named), None)
        if place is None:
            raise NotFound(f"Event {named} is not in this session")
        return place // PAGE * PAGE
    return min(page_request.number("start", 0), max(0, len(events) - 1)) // PAGE * PAGE


def _outline(store: Store, events: list[SessionEvent]) -> list[Heading]:
    prompts = [(n, event) for n, event in enumerate(events) if event.kind == "user_prompt"]
    return [
        Heading(event.seq, excerpt(event_text(store, event), TITLE_CHARS), place // PAGE * PAGE)
        for place, event in prompts[:OUTLINE]
    ]


def _spans(events: Sequence[SessionEvent]) -> list[Span]:
    """Tokens and dollars in equal parts of the session's time."""
    used = [(event.at, event.tokens) for event in events if event.at and event.tokens]
    if not used:
        return []
    first, last = min(at for at, _ in used), max(at for at, _ in used)
    step = max(60_000, -(-(last - first + 1) // _SPANS))
    spans = [Span(begin) for begin in range(first, last + 1, step)]
    for at, cost in used:
        span = spans[(at - first) // step]
        span.tokens += cost.total_tokens
        span.usd += cost.usd or 0.0
    return spans
