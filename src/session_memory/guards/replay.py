"""What a guard would have said in past sessions: the hook's own functions, fed from the store."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from session_memory.core.loop.guards import SPOKE, Guard
from session_memory.core.loop.patterns import Signal
from session_memory.core.schema import SessionEvent
from session_memory.hooks import entry


class Spoken(msgspec.Struct, frozen=True):
    """One call, or the end of a turn, that a guard would have spoken to."""

    seq: int
    call: str
    failed: bool | None
    """Whether the call failed; None where the log does not say."""


def guard_signal(
    guard: Guard, events: Iterable[SessionEvent], root: str, cwd: str = ""
) -> Signal | None:
    """How often a session did again what a guard is against; None where it never came to it.

    A hint comes with the first time, so what counts is whether there is a second one. The end of a
    turn has a guard speak before it is one: there, each time counts.
    """
    all_events = list(events)
    spoken = len(replay(guard, all_events, root, cwd))
    if guard.when.kind == "check":
        edits = any(event.tool_class == "edit" for event in all_events)
        count = spoken if edits else None
    else:
        count = spoken - 1 if spoken else None
    name = SPOKE + guard.id
    return None if count is None else Signal(name, "failing_command", name, count)


class _Memory(entry.Memory):
    """Remembers within this process alone."""

    def __init__(self) -> None:
        self.marks, self.mark_set = list[str](), set[str]()

    def add(self, *marks: str) -> None:
        self.marks += marks
        self.mark_set.update(marks)


def replay(guard: Guard, events: Iterable[SessionEvent], root: str, cwd: str = "") -> list[Spoken]:
    """Where a guard would have spoken in a session of the project at `root` that began in `cwd`.

    A session that began outside it, as in another checkout, counts as one of its own directory.
    """
    cwd = cwd or root
    root = cwd if entry.is_elsewhere(cwd, root) else root
    row: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(guard))
    row |= {"mode": "deny", "trial": False}  # speaks each time
    memory, spoken = _Memory(), list[Spoken]()
    memory.add("b")
    all_events = list(events)
    results = {event.call_id: event for event in all_events if event.kind == "tool_result"}
    for event in all_events:
        if event.kind == "user_prompt":
            spoken += _at_stop(row, memory, event.seq)
        if event.kind != "tool_call":
            continue
        result = results.get(event.call_id)
        for payload, name in _payloads(event):
            record: dict[str, object] = {"session": "replay"}
            call = entry.Call(payload, cwd)
            if entry.before_tool([row], root, record, call, memory):
                failed = None if result is None else result.is_error
                spoken.append(Spoken(event.seq, name, failed))
    return [*spoken, *_at_stop(row, memory, all_events[-1].seq if all_events else 0)]


def _at_stop(row: dict[str, Any], memory: _Memory, seq: int) -> Iterator[Spoken]:
    if entry.at_stop([row], {"session": "replay"}, False, memory):
        yield Spoken(seq, "end of the turn", None)


def _payloads(event: SessionEvent) -> Iterator[tuple[dict[str, object], str]]:
    if event.command:
        yield {"tool_name": "bash", "tool_input": {"command": event.command}}, event.command
    elif event.tool_class in ("edit", "read"):
        for path in event.files:
            payload: dict[str, object] = {
                "tool_name": "edit" if event.tool_class == "edit" else "read",
                "tool_input": {"file_path": path},
            }
            yield payload, f"{event.tool_class} {path}"
