"""Reads a Grok Build session from its chat history, where the update lines are missing.

The history is what the model saw: it has no times, and compaction and rewinds rewrite it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable

from session_memory.adapters.common import (
    Json,
    RawEvent,
    as_list,
    as_object,
    as_text,
    decode_record,
)
from session_memory.adapters.excerpt import EXCERPT, compact_json
from session_memory.adapters.gather import PartBuilder
from session_memory.adapters.grok.text import content_text, user_pieces
from session_memory.adapters.grok.tools import Call, Record, fill_call, mark_outcome, tool_class
from session_memory.core.schema import EventKind, Origin

_EXIT = re.compile(r"exit: (-?\d{1,10})(?:\n|$)")
_PLACE_BITS = 8


class ChatEventBuilder:
    """Takes the rows of a history in order and fills the session's part."""

    def __init__(self, part: PartBuilder, outcomes: dict[str, str], *, by_agent: bool) -> None:
        self.part = part
        self.ignored: Counter[str] = Counter()
        self.unknown: Counter[str] = Counter()
        self._outcomes = outcomes
        self._by_agent = by_agent
        self._agent: Origin = "subagent" if by_agent else "agent"
        self._tools: dict[str, str] = {}
        self._pos = 0

    def read(self, rows: list[Record], inherited: int) -> None:
        """Read all rows; the first `inherited` of them are a parent's, copied by a fork.

        Without times a copy looks like the original by its content, so it is kept as history and
        does not count as something said here.
        """
        for number, row in enumerate(rows):
            self._pos = (number + 1) << _PLACE_BITS
            before = len(self.part.events)
            kind = row_kind(row)
            handler = _HANDLERS.get(kind)
            if handler is not None:
                handler(self, row)
            else:
                self._add("other", "harness", compact_json(row, EXCERPT), kind)
                self.unknown[kind] += 1
            for place in range(before, len(self.part.events) if number < inherited else before):
                event = self.part.events[place]
                self.part.events[place] = RawEvent(
                    event.pos, "other", event.origin, event.text, label="inherited"
                )

    def _add(
        self, kind: EventKind, origin: Origin, text: str, label: str | None = None
    ) -> RawEvent:
        event = RawEvent(self._pos, kind, origin, text, label=label)
        self._pos += 1
        self.part.events.append(event)
        return event

    def system(self, _row: Record) -> None:
        """The system prompt: the client's, not the session's."""
        self.ignored["system_prompt"] += 1

    def user(self, row: Record) -> None:
        """A prompt, or text the client wrote in the user's name."""
        reason = as_text(row.get("synthetic_reason"))
        for piece in user_pieces(content_text(row.get("content")), reason, by_agent=self._by_agent):
            self._add(piece.kind, piece.origin, piece.text, piece.label)

    def assistant(self, row: Record) -> None:
        """What the model thought, said and called."""
        if model := as_text(row.get("model_id")):
            self.part.note("model", model, self._pos)
        if thought := as_text(row.get("reasoning_content")):
            self._add("reasoning", self._agent, thought)
        if text := content_text(row.get("content")):
            self._add("assistant_text", self._agent, text)
        for item in as_list(row.get("tool_calls")):
            fields = as_object(item)
            self._call(as_text(fields.get("id")), as_object(fields.get("function")) or fields)

    def _call(self, call_id: str, fields: Record) -> None:
        name, given = as_text(fields.get("name")), fields.get("arguments")
        if isinstance(given, str):  # JSON inside a string
            given = decode_record(given.encode("utf-8", "replace")) or given
        self._tools[call_id] = name
        fill_call(
            self._add("tool_call", self._agent, ""), Call(name or None, "", given), call_id or None
        )

    def result(self, row: Record) -> None:
        """What a tool gave back; a shell's exit code stands in its first line."""
        call_id, text = as_text(row.get("tool_call_id")), content_text(row.get("content"))
        kind = tool_class(self._tools.get(call_id))
        event = self._add("tool_result", "web" if kind == "web" else "tool", text)
        event.call_id = call_id or None
        if kind == "shell" and (match := _EXIT.match(text)):
            event.exit_code = int(match[1])
        event.is_error = event.exit_code not in (None, 0) or text.startswith("Failed to call ")
        mark_outcome(event, self._outcomes.get(call_id, ""))

    def reasoning(self, row: Record) -> None:
        """What the model thought, as far as the service shows it."""
        text = "\n".join(content_text(part) for part in as_list(row.get("summary")))
        if text:
            self._add("reasoning", self._agent, text)
        else:
            self.ignored["reasoning_encrypted"] += 1

    def backend(self, row: Record) -> None:
        """A tool the service ran on its own side, with no result in the log."""
        detail = as_object(row.get("kind"))
        name = as_text(detail.get("tool_type")) or None
        event = self._add("tool_call", self._agent, "")
        fill_call(event, Call(name, "", detail), as_text(detail.get("id")) or None)


def row_kind(row: Record) -> str:
    """A row's type, or its role in the old format; empty where it has neither."""
    return as_text(row.get("type")) or as_text(row.get("role"))


_HANDLERS: dict[str, Callable[[ChatEventBuilder, dict[str, Json]], None]] = {
    "assistant": ChatEventBuilder.assistant,
    "backend_tool_call": ChatEventBuilder.backend,
    "reasoning": ChatEventBuilder.reasoning,
    "system": ChatEventBuilder.system,
    "tool": ChatEventBuilder.result,
    "tool_result": ChatEventBuilder.result,
    "user": ChatEventBuilder.user,
}
