"""A tool call of Gemini CLI or Qwen Code and its result in the words all flavours share."""

from __future__ import annotations

from session_memory.adapters.common import (
    Json,
    RawEvent,
    as_list,
    as_object,
    as_text,
    classify_tool,
)
from session_memory.adapters.excerpt import compact_json
from session_memory.adapters.gemini.text import exit_code_of, is_denial
from session_memory.core.schema import ToolClass

_BY_NAME: dict[str, ToolClass] = {
    "codebase_investigator": "agent",
    "complete_task": "agent",
    "delegate_to_agent": "agent",
    "enter_plan_mode": "plan",
    "exit_plan_mode": "plan",
    "grep_search": "search",
    "invoke_agent": "agent",
    "lsp": "search",
    "monitor": "shell",
    "ripgrep": "search",
}
"""Names only these clients use."""
_PATHS = ("file_path", "absolute_path", "path", "notebook_path")
_LISTS = ("paths", "include")
_ENDED = frozenset({"success", "error", "cancelled"})


def tool_class(name: str | None) -> ToolClass:
    """The shared class of a tool."""
    return _BY_NAME.get(name or "") or classify_tool(name)


def fill_call(event: RawEvent, name: str, given: Json, call_id: str) -> None:
    """Set what an event of kind `tool_call` says."""
    fields = as_object(given)
    if name == "tool_call" and (inner := as_text(fields.get("name"))):
        # Qwen reaches tools it has not listed to the model through this one.
        name, given = inner, fields.get("arguments", given)
        fields = as_object(given)
    event.tool, event.call_id = name or None, call_id or None
    event.tool_class = tool_class(name)
    event.text = "" if given is None else compact_json(given)
    if event.tool_class == "shell":
        event.command = as_text(fields.get("command")) or None
    elif event.tool_class in ("read", "edit"):
        named = [fields.get(key) for key in _PATHS]
        named += [path for key in _LISTS for path in as_list(fields.get(key))]
        event.files = tuple(path for path in named if isinstance(path, str) and path)


def fill_result(event: RawEvent, name: str, status: str, display: Json) -> None:
    """Set what an event of kind `tool_result` says, beyond its text and call."""
    kind = tool_class(name)
    failed = status in ("error", "cancelled")
    if kind == "shell":
        stated = as_object(display).get("exitCode")
        unknown = type(stated) is not int
        event.exit_code = exit_code_of(event.text, failed=failed) if unknown else stated
    elif kind == "web":
        event.origin = "web"
    event.is_error = failed or event.exit_code not in (None, 0)
    if kind == "edit" and (path := as_text(as_object(display).get("filePath"))):
        event.files = (path,)
    if failed and is_denial(event.text):
        event.label = "denied"
    elif status == "cancelled":
        event.label = "interrupted"


def has_ended(status: str) -> bool:
    """True once a call has a result."""
    return status in _ENDED
