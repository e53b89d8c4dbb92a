"""Turns the entries of a pi session into events."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from msgspec.structs import replace

from session_memory.adapters.common import (
    Json,
    RawEvent,
    as_list,
    as_object,
    as_text,
    classify_tool,
    parse_time,
    rewound,
)
from session_memory.adapters.excerpt import EXCERPT, compact_json
from session_memory.adapters.gather import PartBuilder
from session_memory.adapters.pi.text import content_text, exit_code_of, user_pieces, was_stopped
from session_memory.adapters.pi.tree import Entry
from session_memory.adapters.pi.usage import usage_of
from session_memory.core.schema import EventKind, Origin, ToolClass

Record = dict[str, Json]

_TOOLS: dict[str, ToolClass] = {"todo": "plan", "todos": "plan"}
"""Names that only pi's extensions use."""
_PATHS = ("path", "file_path")
_COUNTED = frozenset(
    {
        "active_tools_change",
        "context_edit",
        "context_transform",
        "custom",  # state that an extension keeps for itself
        "ephemeral",
        "leaf",
        "mode_change",
        "service_tier_change",
        "thinking_level_change",
    }
)
_ABANDONED = frozenset(
    {"assistant_text", "compaction", "injected", "reasoning", "tool_call", "tool_result"}
    | {"user_prompt"}
)
"""What leaving a branch takes back; money spent and errors met stay what they were."""


class EventBuilder:
    """Takes entries in file order and fills the session's part."""

    def __init__(self, part: PartBuilder, version: str) -> None:
        self.part = part
        self.version = version
        self.ignored: Counter[str] = Counter()
        self.unknown: Counter[tuple[str, str]] = Counter()
        self.model = ""
        self.at: int | None = None
        self._pos = 0
        self._tools: dict[str, str] = {}

    def read(self, entry: Entry, *, live: bool) -> None:
        """Read one entry; off the live branch its events are history, not conversation."""
        self._pos, self.at = entry.offset, parse_time(entry.record.get("timestamp"))
        before = len(self.part.events)
        kind = as_text(entry.record.get("type"))
        handler = _ENTRIES.get(kind)
        if handler is not None:
            handler(self, entry.record)
        elif kind in _COUNTED:
            self.ignored[kind] += 1
        else:
            self._opaque(kind, entry.record)
        for place in range(before, before if live else len(self.part.events)):
            if self.part.events[place].kind in _ABANDONED:
                event = self.part.events[place]
                # What it cost was spent all the same.
                self.part.events[place] = replace(rewound(event), usage_key=event.usage_key)

    def add(self, kind: EventKind, origin: Origin, text: str, label: str | None = None) -> RawEvent:
        """Append an event and return it, for the fields only some kinds have."""
        event = RawEvent(self._pos, kind, origin, text, self.at, label=label)
        self._pos += 1
        self.part.events.append(event)
        return event

    def _opaque(self, what: str, record: Record) -> None:
        self.add("other", "harness", compact_json(record, EXCERPT), what)
        self.unknown[self.version, what] += 1

    # --- messages ---

    def message(self, record: Record) -> None:
        """One message of the conversation, by its role."""
        message = as_object(record.get("message"))
        role = as_text(message.get("role"))
        handler = _ROLES.get(role)
        if handler is None:
            self._opaque(f"message/{role}", record)
        else:
            handler(self, message)

    def user(self, message: Record) -> None:
        """A prompt, and what the client put around it."""
        for piece in user_pieces(content_text(message.get("content"))):
            self.add(piece.kind, piece.origin, piece.text, piece.label)

    def assistant(self, message: Record) -> None:
        """What the model thought, said and called, what it cost, and whether it came to its end."""
        before = len(self.part.events)
        self._note_model(as_text(message.get("model")))
        for block in map(as_object, as_list(message.get("content"))):
            self._block(block)
        if isinstance(message.get("content"), str):
            self.add("assistant_text", "agent", as_text(message["content"]))
        self._ending(message)
        events = self.part.events
        self._spend(message, events[before] if len(events) > before else None)

    def _block(self, block: Record) -> None:
        kind = block.get("type")
        if kind == "toolCall":
            self._call(block)
        elif kind == "thinking":
            if text := as_text(block.get("thinking")):
                self.add("reasoning", "agent", text)
            else:
                self.ignored["reasoning/encrypted"] += 1
        elif kind in ("text", "image"):
            if text := content_text([block]):
                self.add("assistant_text", "agent", text)
        else:
            self._opaque(f"block/{as_text(kind)}", block)

    def _ending(self, message: Record) -> None:
        reason, said = as_text(message.get("stopReason")), as_text(message.get("errorMessage"))
        if reason == "aborted" or was_stopped(said):
            self.add("system", "harness", said or reason, "interrupted")
        elif reason == "error" or said:
            self.add("error", "harness", said or reason, "api_error").is_error = True

    def _call(self, block: Record) -> None:
        name, given = as_text(block.get("name")), as_object(block.get("arguments"))
        event = self.add("tool_call", "agent", compact_json(block.get("arguments", {})))
        event.tool, event.call_id = name or None, as_text(block.get("id")) or None
        event.tool_class = _TOOLS.get(name) or classify_tool(name)
        if event.tool_class == "shell":
            event.command = as_text(given.get("command")) or None
        elif event.tool_class in ("read", "edit"):
            event.files = tuple(path for key in _PATHS if (path := as_text(given.get(key))))
        if event.call_id:
            self._tools[event.call_id] = name

    def result(self, message: Record) -> None:
        """What a tool gave back; pi calls every command that ends other than with 0 an error."""
        call_id, text = as_text(message.get("toolCallId")), content_text(message.get("content"))
        name = as_text(message.get("toolName")) or self._tools.get(call_id, "")
        kind = classify_tool(name)
        event = self.add("tool_result", "web" if kind == "web" else "tool", text)
        event.call_id, event.is_error = call_id or None, message.get("isError") is True
        if kind == "shell":
            event.exit_code = exit_code_of(text) if event.is_error else 0
        if event.is_error and was_stopped(text):
            event.label = "interrupted"
        if not call_id:
            event.tool = name or None
        self._spend(message, event)

    def bash(self, message: Record) -> None:
        """A command the user ran by hand, with `!`: no model asked for it."""
        command, code = as_text(message.get("command")), message.get("exitCode")
        call_id = f"bash-{message.get('timestamp', self.at)}"
        call = self.add("tool_call", "user", compact_json({"command": command}))
        call.tool, call.tool_class, call.call_id = "bash", "shell", call_id
        call.command = command or None
        result = self.add("tool_result", "tool", as_text(message.get("output")))
        result.call_id, result.exit_code = call_id, code if type(code) is int else None
        if message.get("cancelled") is True:
            result.label = "interrupted"
        result.is_error = result.exit_code not in (None, 0)

    def custom(self, message: Record) -> None:
        """What an extension or a hook told the model."""
        label = as_text(message.get("customType")) or "custom"
        if text := content_text(message.get("content")):
            self.add("injected", "harness", text, label)
        else:
            self.ignored[f"custom/{label}"] += 1

    def summary(self, message: Record) -> None:
        """A summary that stands for a conversation, as the model was given it."""
        label = "branch_summary" if message.get("role") == "branchSummary" else "compact_summary"
        self.add("injected", "harness", as_text(message.get("summary")), label)

    # --- other entries ---

    def compaction(self, record: Record) -> None:
        """The context was condensed to a summary."""
        event = self.add("compaction", "harness", as_text(record.get("summary")), "compaction")
        self._spend(record, event)

    def branch_summary(self, record: Record) -> None:
        """The user left a branch; this is its summary for the new one."""
        event = self.add("injected", "harness", as_text(record.get("summary")), "branch_summary")
        self._spend(record, event)

    def model_change(self, record: Record) -> None:
        """Another model from here on."""
        self._note_model(as_text(record.get("modelId")) or as_text(record.get("model")))
        self.ignored["model_change"] += 1

    def session_info(self, record: Record) -> None:
        """The name the user gave the session."""
        if name := as_text(record.get("name")):
            self.part.note("title.custom", name, self._pos)
        self.ignored["session_info"] += 1

    def title(self, record: Record) -> None:
        """The title that Oh-my-pi keeps in a line of its own."""
        if title := as_text(record.get("title")):
            self.part.note("title.ai", title, self._pos)
        self.ignored["title"] += 1

    def bookmark(self, record: Record) -> None:
        """A name the user gave to a place in the conversation; taken off again it is empty."""
        if text := as_text(record.get("label")):
            self.add("system", "harness", text, "bookmark")
        else:
            self.ignored["label"] += 1

    def usage(self, record: Record) -> None:
        """Tokens spent outside any answer."""
        self._spend(record, None)
        self.ignored["usage"] += 1

    def _note_model(self, model: str) -> None:
        if model:
            self.model = model
            self.part.note("model", model, self._pos)

    def _spend(self, record: Record, event: RawEvent | None) -> None:
        name = f"{record.get('timestamp', self.at)}:{as_text(record.get('toolCallId'))}"
        usage = usage_of({"model": self.model, **record}, name, self.at)
        if usage is not None:
            self.part.spend(usage)
            if event is not None:
                event.usage_key = usage.key


_ROLES: dict[str, Callable[[EventBuilder, Record], None]] = {
    "assistant": EventBuilder.assistant,
    "bashExecution": EventBuilder.bash,
    "branchSummary": EventBuilder.summary,
    "compactionSummary": EventBuilder.summary,
    "custom": EventBuilder.custom,
    "hookMessage": EventBuilder.custom,
    "toolResult": EventBuilder.result,
    "user": EventBuilder.user,
}
_ENTRIES: dict[str, Callable[[EventBuilder, Record], None]] = {
    "branch_summary": EventBuilder.branch_summary,
    "compaction": EventBuilder.compaction,
    "custom_message": EventBuilder.custom,
    "label": EventBuilder.bookmark,
    "message": EventBuilder.message,
    "model_change": EventBuilder.model_change,
    "session_info": EventBuilder.session_info,
    "title": EventBuilder.title,
    "title_change": EventBuilder.title,
    "usage": EventBuilder.usage,
}
ENTRY_TYPES = frozenset({*_ENTRIES, *_COUNTED, "session"})
