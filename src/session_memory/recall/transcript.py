"""mem_transcript, mem_event and mem_diff: what a search found, opened layer by layer.

A search names an event; mem_event shows it whole, with its neighbours; mem_transcript gives a
page of the session around it, and mem_diff what its edits changed. Every line names its event.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

import msgspec
from msgspec import UNSET, UnsetType

from session_memory.clock import iso
from session_memory.core.event_ids import split
from session_memory.core.file_edits import edits_in
from session_memory.core.schema import SessionEvent
from session_memory.core.text.safe_text import one_line
from session_memory.errors import NotFound, UsageError
from session_memory.recall.context import RecallContext
from session_memory.recall.requests import DiffRequest, EventRequest, TranscriptRequest, page_start
from session_memory.recall.scope import is_of_project, open_scope
from session_memory.recall.unknown_values import check_file, check_tool
from session_memory.redact import render
from session_memory.store.port import RecallStore, TextFilter
from session_memory.store.scopes import SessionLine

Shown = TypeVar("Shown", bound=msgspec.Struct)

TRANSCRIPT = frozenset({"user_prompt", "assistant_text", "tool_call", "tool_result", "error"})
LINE_CHARS = 400
"""Of an event in a list; mem_event shows all of it."""
TEXT_CHARS = 6_000
"""Of one event in one answer."""
PAGE_CHARS = 8_000
"""Of a page: clients cut longer answers in the middle."""
GONE = "its raw text is no longer stored; mem_search still finds what was observed in it"


class EventLine(msgspec.Struct, frozen=True, omit_defaults=True):
    """One event; `event_id` opens it."""

    event_id: int
    kind: str
    at: str | None
    text: str
    tool: str | None = None
    failed: bool = False
    exit_code: int | None = None
    files: tuple[str, ...] = ()
    more_chars: int = 0
    """How much of the text is left out."""


class TranscriptAnswer(msgspec.Struct, frozen=True):
    """mem_transcript."""

    session_id: int
    external_session_id: str
    title: str | None
    events: tuple[EventLine, ...]
    count: int
    next_cursor: str | UnsetType = UNSET


class EventAnswer(msgspec.Struct, frozen=True):
    """mem_event."""

    session_id: int
    external_session_id: str
    event: EventLine
    before: tuple[EventLine, ...]
    after: tuple[EventLine, ...]
    next_cursor: str | UnsetType = UNSET
    """Where the rest of the text begins."""


class FileEdit(msgspec.Struct, frozen=True):
    """What one call changed in one file."""

    event_id: int
    at: str | None
    path: str
    diff: str
    """Lines with their sign; empty where the log does not say what changed."""


class DiffAnswer(msgspec.Struct, frozen=True):
    """mem_diff."""

    session_id: int
    edits: tuple[FileEdit, ...]
    count: int
    next_cursor: str | UnsetType = UNSET


def transcript(context: RecallContext, request: TranscriptRequest) -> TranscriptAnswer:
    """mem_transcript: a page of a session, oldest first."""
    store = context.store
    line = _session(store, request.project_key, request.session_id)
    every = list(store.events(line.id))
    calls = {each.call_id for each in every if each.tool == request.tool and each.call_id}
    events = [each for each in every if _fits(each, request, calls)]
    if not events:
        check_tool(store, request.tool)
        check_file(store, request.file, TextFilter(session=line.id))
    start = page_start(request.cursor)
    if request.around is not None and split(request.around)[0] != line.id:
        raise NotFound("Event not found", hint="around is an event of this session")
    if request.around is not None and request.cursor is None:
        index = next((n for n, event in enumerate(events) if event.id >= request.around), 0)
        start = max(0, index - request.count // 2)
    shown = _page(event_line(store, each) for each in events[start : start + request.count])
    end = start + len(shown)
    return TranscriptAnswer(
        line.id,
        one_line(line.external_id),
        one_line(line.title) if line.title else None,
        shown,
        len(shown),
        str(end) if end < len(events) else UNSET,
    )


def event(context: RecallContext, request: EventRequest) -> EventAnswer:
    """mem_event: one event with its text, and the beginnings of its neighbours."""
    store = context.store
    line = _session_of_event(store, request.event_id, request.project_key)
    events = [
        each
        for each in store.events(line.id)
        if each.id == request.event_id or each.kind in TRANSCRIPT
    ]
    index = next((n for n, each in enumerate(events) if each.id == request.event_id), None)
    if index is None:
        raise NotFound("Event not found", hint=GONE)
    around = (
        events[max(0, index - request.neighbours(request.before)) : index],
        events[index + 1 : index + 1 + request.neighbours(request.after)],
    )
    before, after = (tuple(event_line(store, each) for each in part) for part in around)
    start = page_start(request.cursor)
    opened = event_line(store, events[index], start, TEXT_CHARS)
    more = str(start + TEXT_CHARS) if opened.more_chars else UNSET
    return EventAnswer(line.id, one_line(line.external_id), opened, before, after, more)


def diff(context: RecallContext, request: DiffRequest) -> DiffAnswer:
    """mem_diff: what the edits of a session, or one of them, changed."""
    store = context.store
    if request.event_id is not None:
        line = _session_of_event(store, request.event_id, request.project_key)
    elif request.session_id is not None:
        line = _session(store, request.project_key, request.session_id)
    else:
        raise UsageError("Missing argument: session_id", hint="session_id or event_id")
    events = list(store.events(line.id))
    if request.event_id is not None:
        events = [each for each in events if each.id == request.event_id]
        if not events:
            raise NotFound("Event not found", hint=GONE)
    calls = [each for each in events if each.kind == "tool_call" and each.tool_class == "edit"]
    edits = [
        FileEdit(call.id, iso(call.at), one_line(edit.path), "\n".join(edit.lines))
        for call in calls
        for edit in edits_in(_text(store, call), call.files)
        if request.file is None or request.file in edit.path
    ]
    if not edits:
        check_file(store, request.file, TextFilter(session=line.id))
    start = page_start(request.cursor)
    shown = _page(map(_shortened, edits[start : start + request.count]))
    end = start + len(shown)
    return DiffAnswer(line.id, shown, len(shown), str(end) if end < len(edits) else UNSET)


def event_line(
    store: RecallStore, event: SessionEvent, start: int = 0, most: int = LINE_CHARS
) -> EventLine:
    """An event as lists show it, with this part of its text."""
    text = _said(store, event)
    return EventLine(
        event_id=event.id,
        kind=event.kind,
        at=iso(event.at),
        text=text[start : start + most],
        tool=one_line(event.tool) if event.tool else None,
        failed=event.is_error,
        exit_code=event.exit_code,
        files=tuple(map(one_line, event.files[:5])),
        more_chars=max(0, len(text) - start - most),
    )


def _page(items: Iterable[Shown]) -> tuple[Shown, ...]:
    """Items as long as there is room, one at least; no more of them are made than are shown."""
    shown, taken = list[Shown](), 0
    for item in items:
        taken += len(msgspec.json.encode(item))
        if shown and taken > PAGE_CHARS:
            break
        shown.append(item)
    return tuple(shown)


def _shortened(edit: FileEdit) -> FileEdit:
    left = len(edit.diff) - TEXT_CHARS
    if left <= 0:
        return edit
    return msgspec.structs.replace(edit, diff=f"{edit.diff[:TEXT_CHARS]}\n[{left} more characters]")


def _said(store: RecallStore, event: SessionEvent) -> str:
    """What an event says: of a call its command, or what it was given."""
    return render(event.command) if event.command else _text(store, event)


def _text(store: RecallStore, event: SessionEvent) -> str:
    try:
        return render(store.text(event)) if event.body_ref is not None else ""
    except NotFound:  # evicted meanwhile
        return ""


def _fits(event: SessionEvent, request: TranscriptRequest, calls: set[str]) -> bool:
    """Whether an event is wanted; `calls` are those of the wanted tool, which results name."""
    kinds: Iterable[str] = request.kinds or TRANSCRIPT
    at = event.at
    return (
        event.kind in kinds
        and (not request.errors_only or event.is_error or event.kind == "error")
        and (request.tool is None or event.tool == request.tool or event.call_id in calls)
        and (request.file is None or any(request.file in path for path in event.files))
        and (request.since is None or (at is not None and at >= request.since))
        and (request.until is None or (at is not None and at < request.until))
    )


def _session(store: RecallStore, project_key: str | None, session_id: int) -> SessionLine:
    line = open_scope(store, project_key, session_id).session
    assert line is not None  # a scope that is asked for by its session has one
    return line


def _session_of_event(store: RecallStore, event_id: int, project_key: str | None) -> SessionLine:
    line = store.scopes.line(split(event_id)[0])
    if line is None or not is_of_project(store, line, project_key):
        raise NotFound("Event not found", hint="turn_id and event_id of other answers name events")
    return line
