"""Events as the page shows them: with their text, notes, cures and sub-agents."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

import msgspec

from session_memory.core.digest import title_of
from session_memory.core.schema import Digest, Observation, Session, SessionEvent
from session_memory.core.text.masks import excerpt
from session_memory.errors import NotFound
from session_memory.memory.trace_parser import parse_trace
from session_memory.redact import render
from session_memory.store.port import Store
from session_memory.store.values import ObservationQuery

SHOWN_CHARS = 20_000
"""Of one event; a page of its own shows all of it."""
TITLE_CHARS = 90
_SAME_PROMPT_CHARS = 60


class CureMark(msgspec.Struct, frozen=True):
    """How an event belongs to an error that was cured."""

    text: str
    seq: int
    """The event at the other end."""


class ShownEvent(msgspec.Struct, frozen=True):
    """An event as the page shows it; a call stands together with its result."""

    seq: int
    kind: str
    at: int | None
    title: str
    head: str
    """How its text begins, for a reader who has not unfolded it."""
    text: str
    cut: int
    """Characters left out of `text`."""
    failed: bool
    exit_code: int | None
    seconds: float | None
    """How long a call took, where its result says when it came."""
    folded: bool
    notes: tuple[Observation, ...] = ()
    memories: tuple[str, ...] = ()
    """Lines of the session's trace that rest on it."""
    cures: tuple[CureMark, ...] = ()
    children: tuple[Session, ...] = ()
    """Sub-agents that this call started."""
    result: ShownEvent | None = None
    """What a call gave back, where it is on the same page."""

    @property
    def ended(self) -> ShownEvent:
        """The event that shows how it ended: its result, or else itself."""
        return self.result or self


class EventMarks(msgspec.Struct, frozen=True):
    """What is known of single events beyond their text."""

    notes: dict[int, list[Observation]]
    """By the id of the event."""
    memories: dict[int, list[str]]
    """Likewise."""
    cures: dict[int, list[CureMark]]
    """By the number of the event in its session."""
    children: tuple[Session, ...]


def event_marks(
    store: Store, session: Session, digest: Digest | None, children: Sequence[Session]
) -> EventMarks:
    """Notes, cures and sub-agents of a session."""
    notes: dict[int, list[Observation]] = defaultdict(list)
    for note in store.observations(ObservationQuery(session=session.id)):
        if note.event is not None:
            notes[note.event].append(note)
    return EventMarks(notes, _memory_lines(store, session), _cure_marks(digest), tuple(children))


def _memory_lines(store: Store, session: Session) -> dict[int, list[str]]:
    """The lines that the session left for its project, by the events they cite."""
    lines: dict[int, list[str]] = defaultdict(list)
    try:
        trace = parse_trace(store.memories.find(str(session.id)))
    except NotFound:  # nothing was made of it yet
        return lines
    bullets = [*trace.rules]
    bullets += [each for task in trace.tasks for part in task.sections.values() for each in part]
    for bullet in bullets:
        for event in bullet.events:
            lines[event].append(bullet.text)
    return lines


def shown_events(
    store: Store,
    events: Iterable[SessionEvent],
    marks: EventMarks,
    limit: int | None = SHOWN_CHARS,
) -> list[ShownEvent]:
    """Events with their texts, each cut to `limit`; results stand with their calls."""
    events = list(events)
    calls = {event.call_id: event for event in events if event.kind == "tool_call"}
    shown: dict[int, ShownEvent] = {}
    for event in events:
        call = calls.get(event.call_id) if event.kind == "tool_result" else None
        shown_event = _shown(event, event_text(store, event), marks, limit)
        if call is None or call.seq not in shown:
            shown[event.seq] = shown_event
        elif (shown_call := shown[call.seq]).result is None:
            took = (event.at - call.at) / 1000 if event.at and call.at else None
            answer = msgspec.structs.replace(shown_event, seconds=took)
            shown[call.seq] = msgspec.structs.replace(shown_call, result=answer)
        else:  # a second answer to one call
            shown[event.seq] = shown_event
    return list(shown.values())


def _shown(event: SessionEvent, text: str, marks: EventMarks, limit: int | None) -> ShownEvent:
    return ShownEvent(
        seq=event.seq,
        kind=event.kind,
        at=event.at,
        title=event_title(event),
        head=excerpt(text[: TITLE_CHARS * 4], TITLE_CHARS),
        text=text[:limit],
        cut=max(0, len(text) - limit) if limit else 0,
        failed=event.is_error or event.exit_code not in (None, 0),
        exit_code=event.exit_code,
        seconds=None,
        folded=event.kind not in ("user_prompt", "assistant_text", "error"),
        notes=tuple(marks.notes.get(event.id, ())),
        memories=tuple(marks.memories.get(event.id, ())),
        cures=tuple(marks.cures.get(event.seq, ())),
        children=_started(event, text, marks.children),
    )


def event_text(store: Store, event: SessionEvent) -> str:
    """What was said; "" where its text was evicted."""
    if event.text is not None:
        return render(event.text)
    try:
        return render(store.text(event)) if event.body_ref is not None else ""
    except NotFound:
        return ""


def event_title(event: SessionEvent) -> str:
    """Who spoke, or what was called."""
    if event.kind == "tool_call":
        what = event.command or ", ".join(event.files)
        return excerpt(f"{event.tool or 'tool'} {render(what)}".strip(), TITLE_CHARS * 2)
    names = {"user_prompt": "You", "assistant_text": "Agent", "tool_result": "Result"}
    return names.get(event.kind, (event.label or event.kind).replace("_", " "))


def _cure_marks(digest: Digest | None) -> dict[int, list[CureMark]]:
    marks: dict[int, list[CureMark]] = defaultdict(list)
    for cure in digest.cures if digest else ():
        done = excerpt("; ".join(cure.steps), TITLE_CHARS * 2)
        marks[cure.error_seq].append(CureMark(f"Cured by {done}", cure.proof_seq))
        error = excerpt(cure.sample, TITLE_CHARS * 2)
        for seq in cure.step_seqs:
            marks[seq].append(CureMark(f"This cured {error}", cure.error_seq))
    return marks


def _started(event: SessionEvent, text: str, children: Sequence[Session]) -> tuple[Session, ...]:
    """The sub-agents whose first prompt stands in a call."""
    if event.kind != "tool_call" or event.tool_class != "agent":
        return ()
    prompt = _flat(text.replace("\\n", " ").replace('\\"', '"'))
    return tuple(
        child
        for child in children
        if (first_prompt := _flat(title_of(child))[:_SAME_PROMPT_CHARS]) and first_prompt in prompt
    )


def _flat(text: str) -> str:
    return " ".join(text.split())
