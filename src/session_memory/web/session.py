"""One session: its prompts as an outline, its events page by page, and what was made of it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

import msgspec

from session_memory.core.event_ids import split
from session_memory.core.file_edits import FileDiff, edits_in
from session_memory.core.schema import Digest, Session, SessionEvent
from session_memory.core.text.masks import excerpt
from session_memory.errors import NotFound
from session_memory.export.jsonl import lines_of
from session_memory.export.markdown import file_name, session_parts
from session_memory.store.port import Store
from session_memory.store.values import EventPlace, ResponseCost
from session_memory.web.charts import bars
from session_memory.web.context import WebContext
from session_memory.web.html import moment
from session_memory.web.page import Download, GoTo, Page, PageRequest
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


def session_page(web: WebContext, page_request: PageRequest) -> Page | GoTo:
    """The session; `at` is the number of an event to begin with, `find` narrows the events.

    `when` leads to the event of that time: evidence of rules knows no number.
    """
    find = page_request.query.get("find", "").strip()
    with web.reading() as store:
        session = store.find_session(page_request.path["session"])
        parent = store.session(session.parent_id) if session.parent_id else None
        places = store.event_places(session.id)
        if (named := _at_time(places, page_request.word("when"))) is not None:
            return GoTo(f"/sessions/{session.id}?at={named}#e{named}")
        ids = [place.id for place in places]
        ids = _finding(store, ids, find) if find else ids
        start = _start(ids, page_request)
        digest, children = store.digest(session.id), _children(store, session)
        marks = event_marks(store, session, digest, children)
        shown = shown_events(store, store.events_at(ids[start : start + PAGE]), marks)
        outline = _outline(store, places)
        outcomes = store.outcomes({child.id for child in children})
        spans = _spans(store.response_costs(session.id))
    prompts = sum(place.kind == "user_prompt" for place in places)
    return Page(
        "session.html",
        {
            "session": session,
            "parent": parent,
            "digest": digest,
            "edited": _edited(digest),
            "events": shown,
            "named": page_request.number("at", -1),
            "outline": outline,
            "more_prompts": prompts - OUTLINE,
            "children": children,
            "outcomes": outcomes,
            "find": find,
            "words": find.split(),
            "start": start,
            "page": PAGE,
            "total": len(ids),
            "spans": spans,
            "plots": (
                bars([(moment(span.begin), span.tokens) for span in spans], "Tokens over time"),
                bars([(moment(span.begin), span.usd) for span in spans], "Cost over time", "$"),
            ),
        },
    )


def event_page(web: WebContext, page_request: PageRequest) -> Page:
    """One event with all of its text."""
    with web.reading() as store:
        session, named = _named_event(store, page_request)
        marks = event_marks(store, session, store.digest(session.id), ())
        (event,) = shown_events(store, [named], marks, None)
    return Page("event.html", {"session": session, "event": event})


def diff_page(web: WebContext, page_request: PageRequest) -> Page:
    """Every edit of the session, by file; the digest's files where the log holds no text."""
    with web.reading() as store:
        session = store.find_session(page_request.path["session"])
        digest = store.digest(session.id)
        edits = _edits(store.event_places(session.id))
        files: dict[str, list[tuple[int, FileDiff]]] = defaultdict(list)
        for event in store.events_at(edits[:_MOST_EDITS]):
            for edit in edits_in(event_text(store, event), event.files):
                files[edit.path].append((event.seq, edit))
    return Page(
        "session_diff.html",
        {
            "session": session,
            "files": files,
            "counts": {path: _counted(edit for _, edit in each) for path, each in files.items()},
            "left_out": len(edits) - _MOST_EDITS,
            "others": [path for path, _ in _edited(digest) if path not in files],
        },
    )


def session_markdown(web: WebContext, page_request: PageRequest) -> Download:
    """The whole session as Markdown, redacted like the store."""
    with web.reading() as store:
        session = store.find_session(page_request.path["session"])
        text = "".join(session_parts(store, session))
    return Download(file_name(session), "text/markdown", text)


def session_lines(web: WebContext, page_request: PageRequest) -> Download:
    """The session as JSON Lines, as `store export` writes them."""
    with web.reading() as store:
        session = store.find_session(page_request.path["session"])
        lines = lines_of(store, (session,), lambda _done, _all, _name: None)
        text = "".join(f"{msgspec.json.encode(line).decode()}\n" for line in lines)
    name = file_name(session).removesuffix(".md")
    return Download(f"{name}.jsonl", "application/jsonl", text)


def event_markdown(web: WebContext, page_request: PageRequest) -> Download:
    """One event as Markdown, for the clipboard."""
    with web.reading() as store:
        session, event = _named_event(store, page_request)
        text = event_text(store, event)
    return Download(f"event-{session.id}-{event.seq}.md", "text/markdown", text)


def _named_event(store: Store, page_request: PageRequest) -> tuple[Session, SessionEvent]:
    session = store.find_session(page_request.path["session"])
    wanted = page_request.path["event"]
    named = [p.id for p in store.event_places(session.id) if str(split(p.id)[1]) == wanted]
    if not (events := store.events_at(named)):
        raise NotFound(f"Event {wanted} is not in this session")
    return session, events[0]


def _edits(places: Sequence[EventPlace]) -> list[int]:
    """The calls that edited something: those whose result is not an error."""
    failed = {place.call_id for place in places if place.is_error and place.call_id}
    return [
        place.id
        for place in places
        if place.kind == "tool_call" and place.tool_class == "edit" and place.call_id not in failed
    ]


def _edited(digest: Digest | None) -> list[tuple[str, int]]:
    """Files with how often each was edited, the most edited first."""
    files = digest.files.items() if digest else ()
    return sorted(((path, count) for path, count in files if count), key=lambda item: -item[1])


def _counted(edits: Iterable[FileDiff]) -> tuple[int, int]:
    """Lines added and removed."""
    signs = [line[:1] for edit in edits for line in edit.lines]
    return signs.count("+"), signs.count("-")


def _children(store: Store, session: Session) -> list[Session]:
    numbers = sorted(store.with_subagents({session.id}) - {session.id})
    return [child for child in map(store.session, numbers) if child.parent_id == session.id]


def _finding(store: Store, ids: Sequence[int], find: str) -> list[int]:
    """The events that hold every word, in whatever case; few of them are in memory at a time."""
    words = find.casefold().split()
    return [
        event.id
        for start in range(0, len(ids), PAGE)
        for event in store.events_at(ids[start : start + PAGE])
        if (text := f"{event_title(event)}\n{event_text(store, event)}".casefold())
        and all(word in text for word in words)
    ]


def _at_time(places: Sequence[EventPlace], when: str | None) -> int | None:
    """The number of the first event of a moment, given in milliseconds."""
    return next((split(each.id)[1] for each in places if when and str(each.at) == when), None)


def _start(ids: Sequence[int], page_request: PageRequest) -> int:
    """Where the page of events begins: an index in the list, or the event that was named."""
    named = page_request.number("at", -1)
    if named >= 0:
        index = next((n for n, each in enumerate(ids) if split(each)[1] == named), None)
        if index is None:
            raise NotFound(f"Event {named} is not in this session")
        return index // PAGE * PAGE
    return min(page_request.number("start", 0), max(0, len(ids) - 1)) // PAGE * PAGE


def _outline(store: Store, places: Sequence[EventPlace]) -> list[Heading]:
    prompts = {p.id: n for n, p in enumerate(places) if p.kind == "user_prompt"}
    return [
        Heading(
            event.seq,
            excerpt(event_text(store, event), TITLE_CHARS),
            prompts[event.id] // PAGE * PAGE,
        )
        for event in store.events_at(list(prompts)[:OUTLINE])
    ]


def _spans(used: Sequence[ResponseCost]) -> list[Span]:
    """Tokens and dollars in equal parts of the session's time."""
    if not used:
        return []
    first, last = used[0].at, used[-1].at
    step = max(60_000, -(-(last - first + 1) // _SPANS))
    spans = [Span(begin) for begin in range(first, last + 1, step)]
    for response in used:
        span = spans[(response.at - first) // step]
        span.tokens += response.tokens
        span.usd += response.usd or 0.0
    return spans
