"""Checks the arguments of a call and makes the request; the error names the wrong argument."""

from __future__ import annotations

from typing import Any, cast

import msgspec

from session_memory.core.text.safe_text import one_line
from session_memory.errors import UsageError
from session_memory.mcp.tools import MODES, Tool, fields_of

MAX_CHARS = 4_000
"""Longest single argument: no hint and no query is longer."""
MAX_LISTED = 200
_SWITCHES = frozenset({"errors_only"})
_LARGEST_ID = 2**63 - 1

Json = dict[str, Any]


class ToolCall(msgspec.Struct, frozen=True):
    """A call whose arguments are valid."""

    tool: Tool
    arguments: Json
    """Without empty ones."""

    @property
    def is_about_caller(self) -> bool:
        """Whether it names neither project nor session and so means the caller's project."""
        named = "project_key" in self.arguments or "session_id" in self.arguments
        return self.tool.uses_caller_project and not named

    def request(self, project_key: str | None = None) -> Any:
        """The request for recall, with this project where the call names none."""
        arguments = dict(self.arguments)
        if project_key is not None and "project_key" in self.tool.request.__struct_fields__:
            arguments["project_key"] = project_key
        try:
            return msgspec.convert(arguments, self.tool.request, strict=False)
        except msgspec.ValidationError as error:
            raise UsageError(f"Wrong argument: {one_line(str(error))}") from None


def check_call(tool: Tool, arguments: Json) -> ToolCall:
    """A call with valid arguments; null and "" count as absent."""
    values = {name: value for name, value in arguments.items() if value is not None and value != ""}
    mode = values.pop("response_mode", None)
    if mode is not None and mode not in MODES:
        raise UsageError("Wrong argument: response_mode", hint=f"one of {', '.join(MODES)}")
    fields = fields_of(tool)
    # Ignoring a mistyped session_id would widen what the answer is about.
    if unknown := [name for name in values if name not in fields]:
        names = ", ".join((*fields, "response_mode"))
        raise UsageError(f"Unknown argument: {one_line(unknown[0])[:80]}", hint=f"takes {names}")
    if missing := [name for name in tool.required if name not in arguments]:
        raise UsageError(f"Missing argument: {missing[0]}")
    for name, value in values.items():
        _check(name, value)
    call = ToolCall(tool, values)
    session_id = getattr(call.request("" if call.is_about_caller else None), "session_id", None)
    if session_id is not None and not 1 <= session_id <= _LARGEST_ID:
        raise UsageError("Wrong argument: session_id", hint="a number from mem_session_list")
    return call


def _check(name: str, value: object) -> None:
    if isinstance(value, list):
        items = cast("list[object]", value)
        if len(items) > MAX_LISTED:
            raise UsageError(f"Wrong argument: {name} is too long", hint=f"{MAX_LISTED} at most")
        for item in items:
            _check(name, item)
    elif isinstance(value, str) and len(value) > MAX_CHARS:
        raise UsageError(f"Wrong argument: {name} is too long", hint=f"{MAX_CHARS} letters at most")
    elif isinstance(value, bool) and name in _SWITCHES:
        return
    elif isinstance(value, bool | float | dict):  # no other argument takes any of these
        raise UsageError(f"Wrong argument: {name}")
