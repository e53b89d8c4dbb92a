"""A session of any flavour as items for a model: eleven kinds, filtered, as one JSON array."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from typing import Literal

import msgspec

from session_memory.core.schema import SessionEvent
from session_memory.core.text.own_text import without_own_text
from session_memory.errors import SessionMemoryError

ItemKind = Literal[
    "message",
    "reasoning",
    "local_shell_call",
    "function_call",
    "function_call_output",
    "custom_tool_call",
    "custom_tool_call_output",
    "web_search_call",
    "ghost_snapshot",
    "compaction",
    "other",
]
KINDS: frozenset[ItemKind] = frozenset(ItemKind.__args__)
LineType = Literal["session_meta", "turn_context", "event_msg", "response_item", "compacted"]
Body = dict[str, str | int | bool | None]

_encode = msgspec.json.Encoder().encode
_TYPED = frozenset(("command", "queued_prompt"))
"""Labels of injected text that a person typed."""

_BOUNDARY_CHARS = 60
"""A shorter text only says that the context was compacted, without a summary of it."""


class UnserialisableError(SessionMemoryError):
    """A session contains something that cannot be written as JSON."""

    code = "unserialisable"


class Line(msgspec.Struct, frozen=True):
    """One record of a rollout; `kind` only matters for a response item."""

    type: LineType
    body: Body
    kind: ItemKind = "other"


class Filter(msgspec.Struct, frozen=True):
    """Which records are kept."""

    keep_response_items: bool = True
    keep_compacted_items: bool = True
    kinds: frozenset[ItemKind] = KINDS
    max_items: int | None = None


EVERYTHING = Filter()


def lines_of(events: Iterable[SessionEvent]) -> Iterator[Line]:
    """Events with their texts as rollout records, without those that a fork copied."""
    custom: set[str] = set()
    for event in events:
        if event.inherited:
            continue
        if event.kind in ("tool_call", "tool_result"):
            yield _tool_line(event, custom)
        else:
            yield _spoken_line(event)


def _spoken_line(event: SessionEvent) -> Line:
    text = without_own_text(event.text or "").strip()
    match event.kind:
        case "user_prompt":
            return _message("user", text, event)
        case "assistant_text":
            return _message("assistant", text, event)
        case "injected" if event.origin in ("agent", "subagent") or event.label in _TYPED:
            return _message("user", text, event)
        case "injected" if event.label == "compact_summary":
            return Line("compacted", {"message": text, "event": event.id})
        case "injected":  # the client's instructions and context, not part of the conversation
            return Line("turn_context", {"text": text})
        case "reasoning":
            body: Body = {"type": "reasoning", "text": text, "event": event.id}
            return Line("response_item", body, "reasoning")
        case "compaction" if len(text) > _BOUNDARY_CHARS:
            return Line("compacted", {"message": text, "event": event.id})
        case "compaction":
            return Line("response_item", {"type": "compaction", "event": event.id}, "compaction")
        case "other" if event.label == "ghost_snapshot":
            body = {"type": "ghost_snapshot", "event": event.id}
            return Line("response_item", body, "ghost_snapshot")
        case "other":
            body = {"type": "other", "label": event.label, "text": text, "event": event.id}
            return Line("response_item", body, "other")
        case _:
            return Line("event_msg", {"type": event.kind, "text": text})


def _tool_line(event: SessionEvent, custom: set[str]) -> Line:
    """A call or its output; `custom` collects the ids of custom calls, for their outputs."""
    text, call = without_own_text(event.text or ""), event.call_id
    if event.kind == "tool_result":
        output: ItemKind = "custom_tool_call_output" if call in custom else "function_call_output"
        body: Body = {"type": output, "call_id": call, "output": text, "event": event.id}
        if event.exit_code is not None:
            body["exit_code"] = event.exit_code
        if event.is_error:
            body["is_error"] = True
        return Line("response_item", body, output)
    kind = _call_kind(event, text)
    if kind == "custom_tool_call" and call is not None:
        custom.add(call)
    arguments = event.command if kind == "local_shell_call" else text
    body = {"type": kind, "name": event.tool, "call_id": call, "input": arguments}
    return Line("response_item", {**body, "event": event.id}, kind)


def _call_kind(event: SessionEvent, text: str) -> ItemKind:
    if event.tool_class == "shell" and event.command:
        return "local_shell_call"
    if event.tool_class == "web" and event.call_id is None:
        return "web_search_call"
    # A custom call has free text, such as a patch, instead of named arguments.
    return "function_call" if text.lstrip().startswith("{") or not text else "custom_tool_call"


def _message(role: str, text: str, event: SessionEvent) -> Line:
    body: Body = {"type": "message", "role": role, "content": text, "event": event.id}
    return Line("response_item", body, "message")


def filtered_items(lines: Iterable[Line], rules: Filter = EVERYTHING) -> Iterator[Body]:
    """The items a filter keeps, in order; a compaction becomes a message of the assistant."""
    count = 0
    for line in lines:
        if rules.max_items is not None and count >= rules.max_items:
            return
        if line.type == "response_item":
            if rules.keep_response_items and line.kind in rules.kinds:
                count += 1
                yield line.body
        elif line.type == "compacted" and rules.keep_compacted_items and "message" in rules.kinds:
            text = line.body.get("message")
            body: Body = {"type": "message", "role": "assistant", "content": text}
            count += 1
            yield {**body, "event": line.body.get("event")}


class Array(msgspec.Struct, frozen=True):
    """Items as a JSON array, perhaps without its middle, and the size of the whole array."""

    data: bytes
    size: int


def array_of(items: Iterable[Body], enough: int | None = None) -> Array:
    """One JSON array; raises UnserialisableError for an item that JSON cannot express.

    Of a conversation longer than twice `enough` bytes, only that much of its beginning and of its
    end is kept: the rest is cut out later anyway, and a log may be larger than the memory.
    """
    head: list[bytes] = []
    tail: deque[bytes] = deque()
    in_head = in_tail = 0
    size = 1
    for item in items:
        try:
            data = _encode(item)
        except (ValueError, TypeError, OverflowError, msgspec.MsgspecError) as error:
            kind, event = type(error).__name__, item.get("event")
            raise UnserialisableError(f"{kind} in event {event}") from None
        size += len(data) + 1
        if enough is None or in_head <= enough:
            head.append(data)
            in_head += len(data)
            continue
        tail.append(data)
        in_tail += len(data)
        while in_tail - len(tail[0]) > enough:
            in_tail -= len(tail.popleft())
    return Array(b"[" + b",".join((*head, *tail)) + b"]", max(2, size))
