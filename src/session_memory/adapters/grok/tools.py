"""A Grok Build tool call and its result in the words all flavours share."""

from __future__ import annotations

import re
from collections.abc import Iterable

import msgspec

from session_memory.adapters.common import (
    Json,
    RawEvent,
    as_list,
    as_object,
    as_text,
    classify_tool,
    decode_record,
)
from session_memory.adapters.excerpt import EXCERPT, compact_json
from session_memory.adapters.grok.text import content_text
from session_memory.core.schema import ToolClass

Record = dict[str, Json]

_BY_NAME: dict[str, ToolClass] = {
    "get_command_or_subagent_output": "shell",
    "kill_command_or_subagent": "shell",
    "monitor": "shell",
    "search_tool": "search",
    "spawn_subagent": "agent",
    "workflow": "agent",
}
"""Names only Grok uses."""
_BY_KIND: dict[str, ToolClass] = {
    "delete": "edit",
    "edit": "edit",
    "execute": "shell",
    "fetch": "web",
    "list": "read",
    "move": "edit",
    "read": "read",
    "search": "search",
    "task": "agent",
    "web_search": "web",
    "write": "edit",
}
"""The protocol's own kinds, for tools whose name says nothing."""
_NAME = re.compile(r"[\w.-]+")
_PATHS = ("file_path", "target_file", "path", "notebook_path")

_FAILED = frozenset({"error", "invalid_tool"})
_DENIED = frozenset({"permission_rejected", "hook_denied"})
_STOPPED = frozenset({"permission_cancelled", "cancelled"})
_SAID = ("output_for_prompt", "tool_output_for_prompt", "OkayOutput", "Error", "content", "message")
"""Fields of a raw output that hold what the model was shown, best first."""


class Call(msgspec.Struct, frozen=True):
    """What is known of a tool call by its id."""

    name: str | None = None
    kind: str = ""
    given: Json = None

    def seen(self, update: Record) -> Call:
        """The same call after one more record about it; what was said first stays."""
        tool = as_object(as_object(update.get("_meta")).get("x.ai/tool"))
        title = as_text(update.get("title"))
        plain = title if _NAME.fullmatch(title) else ""
        given = update.get("rawInput")
        return Call(
            self.name or as_text(tool.get("name")) or plain or None,
            self.kind or as_text(tool.get("kind")) or as_text(update.get("kind")),
            given if self.given in (None, {}) else self.given,
        )


def fill_call(event: RawEvent, call: Call, call_id: str | None) -> None:
    """Set what an event of kind `tool_call` says."""
    fields = as_object(call.given)
    name = call.name or call.kind or None
    if name == "use_tool" and (inner := as_text(fields.get("tool_name"))):
        name = f"mcp__{inner}"  # Grok reaches every MCP tool through this one
    event.tool, event.call_id = name, call_id
    event.tool_class = tool_class(name, call.kind)
    event.text = "" if call.given is None else compact_json(call.given)
    if event.tool_class == "shell":
        event.command = as_text(fields.get("command")) or None
    elif event.tool_class in ("read", "edit"):
        named = (fields.get(key) for key in _PATHS)
        event.files = tuple(path for path in named if isinstance(path, str) and path)


def tool_class(name: str | None, kind: str = "") -> ToolClass:
    """The shared class of a tool; the kind the log states decides where its name does not."""
    shared_class = classify_tool(name)
    if shared_class == "other":
        shared_class = _BY_NAME.get(name or "") or _BY_KIND.get(kind, "other")
    return shared_class


def fill_result(event: RawEvent, update: Record, outcome: str) -> None:
    """Set what an event of kind `tool_result` says; `outcome` is that of events.jsonl."""
    raw = as_object(update.get("rawOutput"))
    event.call_id = as_text(update.get("toolCallId")) or None
    event.text = result_text(update)
    code = raw.get("exit_code", raw.get("exitCode"))
    event.exit_code = code if type(code) is int else None
    stated = update.get("status") == "failed" or raw.get("is_error") is True
    event.is_error = (
        stated
        or event.exit_code not in (None, 0)
        or raw.get("timed_out") is True
        or outcome in _FAILED
    )
    mark_outcome(event, outcome)


def mark_outcome(event: RawEvent, outcome: str) -> None:
    """Label a result whose tool never ran, or was stopped."""
    if outcome in _DENIED:
        event.label, event.is_error = "denied", True
    elif outcome in _STOPPED:
        event.label, event.is_error = "interrupted", True
    elif outcome in _FAILED:
        event.is_error = True


def result_text(update: Record) -> str:
    """What a tool gave back, as the model saw it; a diff repeats the call's input."""
    blocks = [b for b in as_list(update.get("content")) if as_object(b).get("type") != "diff"]
    text = content_text(blocks)
    raw = update.get("rawOutput")
    if blocks or raw is None:
        return text
    said = raw if isinstance(raw, str) else _said(as_object(raw))
    return said if said is not None else compact_json(raw, EXCERPT)


def _said(raw: Record, depth: int = 2) -> str | None:
    """The text of a raw output: its own field, or that of an object inside it."""
    for key in _SAID:
        if isinstance(value := raw.get(key), str):
            return value
    output = raw.get("output")
    if isinstance(output, str):
        return output
    for inner in raw.values() if depth else ():
        text = _said(as_object(inner), depth - 1) if isinstance(inner, dict) else None
        if text is not None:
            return text
    return None


def outcomes_of(lines: Iterable[bytes]) -> dict[str, str]:
    """How each call ended by events.jsonl; of several reports of a workspace the first counts."""
    outcomes: dict[str, str] = {}
    for line in lines:
        if b'"tool_completed"' not in line:
            continue
        record = decode_record(line) or {}
        call_id, outcome = as_text(record.get("tool_call_id")), as_text(record.get("outcome"))
        if record.get("type") == "tool_completed" and call_id and outcome:
            if "source" in record:
                outcomes.setdefault(call_id, outcome)
            else:
                outcomes[call_id] = outcome
    return outcomes
