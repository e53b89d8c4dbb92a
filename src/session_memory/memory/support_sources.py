"""Reads what a model's statements may rest on: traces, and the events that they cite."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from session_memory.core.event_ids import split
from session_memory.core.schema import SessionEvent
from session_memory.memory.prompt import MAX_PROMPT_BYTES
from session_memory.memory.support import (
    Basis,
    Evidence,
    Source,
    events_in,
    why_unsupported,
)
from session_memory.redact import render
from session_memory.store.memories import Trace
from session_memory.store.port import SessionReader

_TYPED = frozenset(("command", "queued_prompt"))
"""Labels of injected text that a person typed."""


def evidence_of_traces(
    store: SessionReader, traces: Sequence[Trace], texts: Iterable[str]
) -> Evidence:
    """What these texts may cite: the traces of a project and events of their sessions."""
    by_session = {trace.session_id: _trace_sources(trace) for trace in traces}
    numbers_by_session: dict[int, set[int]] = {}
    for number in {number for text in texts for number in events_in(text)}:
        if split(number)[0] in by_session:
            numbers_by_session.setdefault(split(number)[0], set()).add(number)
    events: dict[int, Sequence[Source]] = {}
    for session, numbers in numbers_by_session.items():
        for number, sources in _event_sources(store, session, numbers).items():
            # The trace of a session stands for raw text that was evicted.
            events[number] = sources or by_session[session]
    return Evidence({trace.thread_id: by_session[trace.session_id] for trace in traces}, events)


def why_not_supported_by(store: SessionReader, text: str, events: Sequence[int]) -> str | None:
    """Why these events do not support a statement, or None; events without text support nothing."""
    by_session: dict[int, set[int]] = {}
    for number in events:
        by_session.setdefault(split(number)[0], set()).add(number)
    sources = [
        source
        for session, numbers in by_session.items()
        for cited in _event_sources(store, session, numbers).values()
        for source in cited
    ]
    return why_unsupported(text, Evidence({}, {}, Basis(sources) if sources else None))


def evidence_of_session(store: SessionReader, session_id: int) -> Evidence:
    """What the trace of a session may cite: its events; what cites none rests on all of them."""
    events = {event.id: _sources(event, event.text or "") for event in _bounded(store, session_id)}
    everything = [source for sources in events.values() for source in sources]
    return Evidence({}, events, Basis(everything))


def _bounded(store: SessionReader, session_id: int) -> Iterable[SessionEvent]:
    """The events of a session, up to twice what a prompt can show of it."""
    room = 2 * MAX_PROMPT_BYTES
    for event in store.events(session_id, texts=True):
        room -= len(event.text or "")
        if room < 0:
            return
        yield event


def _trace_sources(trace: Trace) -> list[Source]:
    """A trace; its preferences are in the user's words, for which they were checked."""
    head, tasks, rest = trace.trace_summary.partition("\n## Task:")
    before, _, preferences = head.partition("User preferences:")
    return [Source(before + tasks + rest, "agent"), Source(preferences, "user")]


def _event_sources(
    store: SessionReader, session_id: int, numbers: set[int]
) -> Mapping[int, list[Source]]:
    """The cited events of a session, each with the result of its call."""
    events = list(store.events(session_id))
    calls = {event.call_id for event in events if event.id in numbers and event.call_id}
    texts = {
        event.id: store.text(event)
        for event in events
        if event.id in numbers or (event.call_id in calls and event.kind == "tool_result")
    }
    results = {
        event.call_id: _sources(event, texts[event.id])
        for event in events
        if event.id in texts and event.kind == "tool_result"
    }
    return {
        event.id: [*_sources(event, texts[event.id]), *results.get(event.call_id, ())]
        for event in events
        if event.id in numbers
    }


def _sources(event: SessionEvent, text: str) -> list[Source]:
    """The text of an event, and its command and files, by whoever wrote them."""
    rendered = render(text)
    if event.kind == "user_prompt" or (event.kind == "injected" and event.label in _TYPED):
        return [Source(rendered, "user")] if rendered else []
    if event.kind == "tool_result":
        return [Source(rendered, "error" if event.is_error else "tool")] if rendered else []
    if event.kind == "injected":
        return [Source(rendered, "tool")] if rendered else []
    parts = [rendered, render(event.command or ""), *map(render, event.files)]
    spoken = "\n".join(part for part in parts if part)
    return [Source(spoken, "agent")] if spoken else []
