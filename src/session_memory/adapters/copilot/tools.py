"""A Copilot tool call and its result in the words all flavours share."""

from __future__ import annotations

import re

from session_memory.adapters.common import (
    Json,
    as_list,
    as_object,
    as_text,
    classify_tool,
    decode_record,
)
from session_memory.adapters.copilot.state import Emitter, Record
from session_memory.adapters.excerpt import compact_json
from session_memory.core.schema import Origin, ToolClass

_CLASSES: dict[str, ToolClass] = {
    "fetch_copilot_cli_documentation": "web",
    "list_agents": "agent",
    "list_bash": "shell",
    "list_powershell": "shell",
    "lsp": "search",
    "read_agent": "agent",
    "read_bash": "shell",
    "read_powershell": "shell",
    "stop_bash": "shell",
    "stop_powershell": "shell",
    "write_agent": "agent",
    "write_bash": "shell",
    "write_powershell": "shell",
}
"""Names only Copilot uses."""
_PATHS = ("path", "file_path", "filePath")
_PATCHED = re.compile(r"^\*\*\* (?:Add|Update|Delete) File: (.+)$", re.M)
_EXIT = re.compile(r"<(?:shellId: \S+ completed|(?:command )?exited) with exit code (-?\d{1,10})>")
_DENIED = ("denied", "reject", "not permitted")
_STOPPED = ("abort", "cancel", "interrupt")


def tool_class(name: str, given: Record, server: str = "") -> ToolClass:
    """The shared class of a tool; some of Copilot's tools do two things."""
    if server:
        return "mcp"
    if name == "str_replace_editor" and given.get("command") == "view":
        return "read"
    if name == "sql":  # its to-do list is a table
        return "plan" if "todo" in as_text(given.get("query")).lower() else "other"
    return _CLASSES.get(name) or classify_tool(name)


def add_call(fields: Record, origin: Origin, out: Emitter) -> None:
    """A call, as the answer that asks for it names it or as its execution does."""
    name = as_text(fields.get("name")) or as_text(fields.get("toolName"))
    arguments = fields.get("arguments")
    if isinstance(arguments, str):  # JSON inside a string, in old versions
        arguments = decode_record(arguments.encode("utf-8", "replace")) or arguments
    given, server = as_object(arguments), as_text(fields.get("mcpServerName"))
    tool = as_text(fields.get("mcpToolName"))
    event = out.add("tool_call", origin, "" if arguments is None else compact_json(arguments))
    event.tool = f"mcp__{server}__{tool}" if server and tool else name or None
    event.tool_class = tool_class(name, given, server)
    event.call_id = as_text(fields.get("toolCallId")) or None
    if event.tool_class == "shell":
        event.command = as_text(given.get("command")) or None
    elif event.tool_class in ("read", "edit"):
        event.files = _files(arguments)
    if event.call_id:
        out.state.open_call(event.call_id, event.tool_class)


def _files(arguments: Json) -> tuple[str, ...]:
    given = as_object(arguments)
    named = tuple(path for key in _PATHS if (path := as_text(given.get(key))))
    patch = as_text(arguments) or as_text(given.get("input")) or as_text(given.get("patch"))
    return named or tuple(dict.fromkeys(path.strip() for path in _PATCHED.findall(patch)))


def add_result(data: Record, out: Emitter) -> None:
    """What a tool gave back, and whether it did what was asked."""
    state, call_id = out.state, as_text(data.get("toolCallId"))
    kind = state.calls.pop(call_id, "")
    error = as_object(data.get("error"))
    text = _result_text(data)
    event = out.add("tool_result", "web" if kind == "web" else "tool", text)
    event.call_id = call_id or None
    if not kind:
        event.tool = as_text(data.get("toolName")) or None
    event.exit_code = _exit_code(data, text if kind == "shell" else "")
    event.is_error = data.get("success") is False or event.exit_code not in (None, 0)
    edits = (as_text(as_object(edit).get("path")) for edit in as_list(data.get("fileEdits")))
    event.files = tuple(filter(None, edits))
    code = as_text(error.get("code")).lower()
    if call_id in state.denied or any(word in code for word in _DENIED):
        event.label, event.is_error = "denied", True
        state.denied = [other for other in state.denied if other != call_id]
    elif any(word in code for word in _STOPPED):
        event.label = "interrupted"


def _exit_code(data: Record, text: str) -> int | None:
    code = as_object(data.get("shellExecution")).get("exitCode")
    if type(code) is int:
        return code
    codes = _EXIT.findall(text)
    return int(codes[-1]) if codes else None


def _result_text(data: Record) -> str:
    """What the model was given; the detailed form of it repeats an edit's input as a diff."""
    result = data.get("result")
    said = result if isinstance(result, str) else as_object(result).get("content")
    if said is None:
        return as_text(as_object(data.get("error")).get("message")) or as_text(data.get("error"))
    return said if isinstance(said, str) else compact_json(said)
