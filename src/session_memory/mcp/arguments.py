"""From the arguments of a call to the request it means; what does not fit is refused by name."""

from __future__ import annotations

from typing import Any, cast

import msgspec

from session_memory.core.text.safe_text import one_line
from session_memory.errors import UsageError
from session_memory.mcp.tools import MODES, ResponseMode, Tool, fields_of

MAX_CHARS = 4_000
"""Of one argument; more is no hint and no question."""
MAX_LISTED = 200
_LARGEST_ID = 2**63 - 1

Json = dict[str, Any]


class Asked(msgspec.Struct, frozen=True):
    """A call whose arguments make sense."""

    tool: Tool
    given: Json
    """Arguments without those that say nothing."""
    mode: ResponseMode | None

    @property
    def wants_place(self) -> bool:
        """Whether the project of the caller is meant, as nothing else is named."""
        return self.tool.here and "project_key" not in self.given and "session_id" not in self.given

    def request(self, project_key: str | None = None) -> Any:
        """The request for recall, about this project where the call named none."""
        given = dict(self.given)
        if project_key is not None:
            given["project_key"] = project_key
        try:
            return msgspec.convert(given, self.tool.request, strict=False)
        except msgspec.ValidationError as error:
            raise UsageError(f"Wrong argument: {one_line(str(error))}") from None


def asked(tool: Tool, arguments: Json) -> Asked:
    """A call, checked; null and "" are as good as absent."""
    given = {name: value for name, value in arguments.items() if value is not None and value != ""}
    mode = given.pop("response_mode", None)
    if mode is not None and mode not in MODES:
        raise UsageError("Wrong argument: response_mode", hint=f"one of {', '.join(MODES)}")
    known = fields_of(tool)
    # A mistyped session_id must not widen what the answer is about.
    if unknown := [name for name in given if name not in known]:
        names = ", ".join((*known, "response_mode"))
        raise UsageError(f"Unknown argument: {one_line(unknown[0])[:80]}", hint=f"takes {names}")
    if missing := [name for name in tool.required if name not in arguments]:
        raise UsageError(f"Missing argument: {missing[0]}")
    for name, value in given.items():
        _check(name, value)
    call = Asked(tool, given, mode)
    number = getattr(call.request("" if call.wants_place else None), "session_id", None)
    if number is not None and not 1 <= number <= _LARGEST_ID:
        raise UsageError("Wrong argument: session_id", hint="a number from mem_session_list")
    return call


def _check(name: str, value: object) -> None:
    if isinstance(value, list):
        listed = cast("list[object]", value)
        if len(listed) > MAX_LISTED:
            raise UsageError(f"Wrong argument: {name} is too long", hint=f"{MAX_LISTED} at most")
        for one in listed:
            _check(name, one)
    elif isinstance(value, str) and len(value) > MAX_CHARS:
        raise UsageError(f"Wrong argument: {name} is too long", hint=f"{MAX_CHARS} letters at most")
    elif isinstance(value, bool | float | dict):  # no tool takes any of these
        raise UsageError(f"Wrong argument: {name}")
