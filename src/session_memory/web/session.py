"""One session: its prompts as an outline, its events page by page, and what was made of it."""

from __future__ import annotations

import msgspec

from session_memory.core.schema import Observation, Session, SessionEvent
from session_memory.core.text.masks import excerpt
from session_memory.errors import NotFound
from session_memory.redact import render
from session_memory.store.port import Store
from session_memory.store.values import ObservationQuery, SessionQuery
from session_memory.web.context import WebContext
from session_memory.web.page import Asked, Page

PAGE = 200
OUTLINE = 400
_TITLE_CHARS = 90
_SHOWN_CHARS = 20_000
"""Of one event; the rest is a click away."""


class ShownEvent(msgspec.Struct, frozen=True):
    """An event as the page shows it."""

    seq: int
    event_id: int
    kind: str
    at: int | None
    title: str
    text: str
    cut: int
    failed: bool
    exit_code: int | None
    seconds: float | None
    """How long a call took, where its result says when it came."""
    folded: bool
    notes: tuple[Observation, ...] = ()


class Heading(msgspec.Struct, frozen=True):
    """A prompt of the outline."""

    seq: int
    title: str
    start: int
    """The page of events that it is on."""


def session_page(web: WebContext, asked: Asked) -> Page:
    """The session; `at` is the number of an event to begin with."""
    with web.reading() as store:
        session = store.find_session(asked.path["session"])
        events = list(store.events(session.id))
        start = _start(events, asked)
        shown = _shown(store, session, events[start : start + PAGE])
        outline = _outline(store, events)
        children = [
            each
            for each in store.sessions(SessionQuery(project=session.project_key))
            if each.parent_id == session.id
        ]
        digest = store.digest(session.id)
    return Page(
        "session.html",
        {
            "session": session,
            "digest": digest,
            "events": shown,
            "outline": outline,
            "children": children,
            "start": start,
            "page": PAGE,
            "total": len(events),
        },
    )


def _start(events: list[SessionEvent], asked: Asked) -> int:
    """Where the page of events begins: a place in the list, or the event that was named."""
    named = asked.number("at", -1)
    if named >= 0:
        place = next((n for n, event in enumerate(events) if event.seq == named), None)
        if place is None:
            raise NotFound(f"Event {named} is not in this session")
        return place // PAGE * PAGE
    return min(asked.number("start", 0), max(0, len(events) - 1)) // PAGE * PAGE


def _shown(store: Store, session: Session, events: list[SessionEvent]) -> list[ShownEvent]:
    noted: dict[int, list[Observation]] = {}
    for note in store.observations(ObservationQuery(session=session.id)):
        if note.event is not None:
            noted.setdefault(note.event, []).append(note)
    asked_at = {event.call_id: event.at for event in events if event.kind == "tool_call"}
    shown: list[ShownEvent] = []
    for event in events:
        text = _text(store, event)
        began = asked_at.get(event.call_id) if event.kind == "tool_result" else None
        shown.append(
            ShownEvent(
                seq=event.seq,
                event_id=event.id,
                kind=event.kind,
                at=event.at,
                title=_title(event),
                text=text[:_SHOWN_CHARS],
                cut=max(0, len(text) - _SHOWN_CHARS),
                failed=event.is_error or event.exit_code not in (None, 0),
                exit_code=event.exit_code,
                seconds=(event.at - began) / 1000 if began and event.at else None,
                folded=event.kind not in ("user_prompt", "assistant_text", "error"),
                notes=tuple(noted.get(event.id, ())),
            )
        )
    return shown


def _outline(store: Store, events: list[SessionEvent]) -> list[Heading]:
    prompts = [(n, event) for n, event in enumerate(events) if event.kind == "user_prompt"]
    return [
        Heading(event.seq, excerpt(_text(store, event), _TITLE_CHARS), place // PAGE * PAGE)
        for place, event in prompts[:OUTLINE]
    ]


def _text(store: Store, event: SessionEvent) -> str:
    """What was said; '' where its text was evicted."""
    try:
        return render(store.text(event)) if event.body_ref is not None else ""
    except NotFound:
        return ""


def _title(event: SessionEvent) -> str:
    if event.kind == "tool_call":
        what = event.command or ", ".join(event.files)
        return excerpt(f"{event.tool or 'tool'} {render(what)}", _TITLE_CHARS * 2)
    names = {"user_prompt": "You", "assistant_text": "Agent", "tool_result": "Result"}
    return names.get(event.kind, (event.label or event.kind).replace("_", " "))
