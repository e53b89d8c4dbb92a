"""An OpenCode tool part in the words all flavours share: a call and, once it ended, its result."""

from __future__ import annotations

import re

from session_memory.adapters.common import (
    Json,
    RawEvent,
    as_object,
    as_text,
    classify_tool,
)
from session_memory.adapters.excerpt import compact_json
from session_memory.core.schema import ToolClass

Record = dict[str, Json]

_OWN: dict[str, ToolClass] = {
    "apply_patch": "edit",
    "codesearch": "web",
    "list": "read",
    "lsp": "search",
    "lsp_diagnostics": "read",
    "lsp_hover": "read",
    "patch": "edit",
    "plan_enter": "plan",
    "plan_exit": "plan",
}
"""Names only OpenCode uses, or uses for something else."""
_PATHS = ("filePath", "file_path", "path")
_PATCHED = re.compile(r"^\*\*\* (?:(?:Add|Update|Delete) File|Move to): (.+)$", re.M)

_DENIED = re.compile(
    r"rejected permission|specified a rule which prevents|permission denied by", re.I
)
_STOPPED = ("Tool execution aborted", "Tool execution was interrupted", "Aborted")


def tool_class(name: str) -> ToolClass:
    """The shared class; MCP tools are called SERVER_TOOL, which no tool of the client's is."""
    shared_class = _OWN.get(name) or classify_tool(name)
    return "mcp" if shared_class == "other" and "_" in name else shared_class


def fill_call(event: RawEvent, part: Record) -> None:
    """Set what an event of kind `tool_call` says."""
    state = as_object(part.get("state"))
    given = as_object(state.get("input"))
    event.tool = as_text(part.get("tool")) or None
    event.call_id = as_text(part.get("callID")) or None
    event.tool_class = tool_class(event.tool or "")
    event.text = compact_json(given) if given else as_text(state.get("raw"))
    if event.tool_class == "shell":
        event.command = as_text(given.get("command")) or None
    elif event.tool_class in ("read", "edit"):
        named = [as_text(given.get(key)) for key in _PATHS]
        named += _PATCHED.findall(as_text(given.get("patchText")))
        event.files = tuple(dict.fromkeys(path for path in named if path))


def fill_result(event: RawEvent, part: Record) -> None:
    """Set what an event of kind `tool_result` says."""
    state = as_object(part.get("state"))
    code = as_object(state.get("metadata")).get("exit")
    error = as_text(state.get("error"))
    event.call_id = as_text(part.get("callID")) or None
    event.text = error or as_text(state.get("output"))
    event.exit_code = code if type(code) is int else None
    event.is_error = state.get("status") == "error" or event.exit_code not in (None, 0)
    if error.startswith(_STOPPED):
        event.label = "interrupted"
    elif _DENIED.search(error):
        event.label = "denied"
