"""Events and observations for the tests of what is observed, in as few words as possible."""

from __future__ import annotations

import json
from typing import Any

from session_memory.core.schema import (
    Observation,
    ObservationType,
    Session,
    SessionEvent,
)
from session_memory.distil.observe import observe

SESSION = Session(id=7, flavor="claude", external_id="abc")


def said(*events: SessionEvent, session: Session = SESSION) -> list[tuple[str, str]]:
    """(type, text) of what is observed, low value left out."""
    found = observe(session, in_order(*events))
    return [(one.type, one.text) for one in found if one.status != "low_value"]


def texts(kind: ObservationType, *events: SessionEvent) -> list[str]:
    """The texts of one type."""
    return [text for type_, text in said(*events) if type_ == kind]


def in_order(*events: SessionEvent) -> list[SessionEvent]:
    """Give events their places: one second apart."""
    return [
        SessionEvent(
            **{
                **{name: getattr(event, name) for name in SessionEvent.__struct_fields__},
                "seq": seq,
                "id": (7 << 24) + seq,
                "at": 1_000 * seq,
            }
        )
        for seq, event in enumerate(events)
    ]


def user(text: str, **fields: Any) -> SessionEvent:
    """A prompt."""
    return SessionEvent(7, 0, "user_prompt", "user", text=text, **fields)


def agent(text: str, **fields: Any) -> SessionEvent:
    """An answer."""
    return SessionEvent(7, 0, "assistant_text", "agent", text=text, **fields)


def injected(text: str, label: str | None = None, origin: Any = "harness") -> SessionEvent:
    """Something the client put into the talk."""
    return SessionEvent(7, 0, "injected", origin, text=text, label=label)


def queued(text: str) -> SessionEvent:
    """What was typed while the agent was busy, as adapters tell it."""
    return SessionEvent(7, 0, "other", "user", text=text, label="queued_prompt")


def edit(path: str = "src/app.py") -> SessionEvent:
    """A changed file."""
    return SessionEvent(7, 0, "tool_call", "agent", tool="Edit", tool_class="edit", files=(path,))


def shell(command: str, call_id: str) -> SessionEvent:
    """A command."""
    return SessionEvent(
        *(7, 0, "tool_call", "agent"),
        tool="Bash",
        tool_class="shell",
        command=command,
        call_id=call_id,
    )


def result(call_id: str, text: str = "", code: int | None = 0, **fields: Any) -> SessionEvent:
    """What came back."""
    failed = code not in (0, None)
    return SessionEvent(
        *(7, 0, "tool_result", "tool"),
        text=text,
        call_id=call_id,
        exit_code=code,
        is_error=failed,
        **fields,
    )


def todo_write(**items: str) -> SessionEvent:
    """Claude's plan: item to status; underscores are blanks."""
    todos = [{"content": _words(name), "status": status} for name, status in items.items()]
    return plan("TodoWrite", {"todos": todos})


def plan(tool: str, value: dict[str, Any], call_id: str | None = None) -> SessionEvent:
    """A call of any planning tool."""
    return SessionEvent(
        *(7, 0, "tool_call", "agent"),
        tool=tool,
        tool_class="plan",
        text=json.dumps(value),
        call_id=call_id,
    )


def _words(name: str) -> str:
    return name.replace("_", " ")


def noted(kind: ObservationType, text: str, at: int | None = 0, **fields: Any) -> Observation:
    """An observation as a store would give it."""
    values: dict[str, Any] = {
        "status": "active",
        "importance": 3,
        "session": 1,
        "event": None,
        "origin": "agent",
        "hash": f"{kind}-{text}-{at}",
        **fields,
    }
    return Observation(type=kind, text=text, at=at, **values)
