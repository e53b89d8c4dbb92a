"""Calls that an answer suggests, in a profile that does not offer all tools."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Any, cast

_INSTEAD = {"mem_context_pack": "mem_bootstrap_context", "mem_session_list": "mem_search"}
"""Tools that do nearly the same."""
_TOOL = re.compile(r"\bmem_\w+")


def only_offered(value: Any, tools: Collection[str]) -> Any:
    """An answer whose suggestions name tools that are offered; a call of another is left out."""
    if isinstance(value, list):
        return [only_offered(item, tools) for item in cast("list[Any]", value)]
    if not isinstance(value, dict):
        return value
    fields: dict[str, Any] = {}
    for name, field in cast("dict[str, Any]", value).items():
        if name == "recommended_call" and isinstance(field, str):
            call = field.replace("mem_context_pack(", "mem_bootstrap_context(", 1)
            fields |= {name: call} if set(_TOOL.findall(call)) <= set(tools) else {}
        elif name in ("next_action", "next_steps"):
            fields[name] = _words(field, tools)
        else:
            fields[name] = only_offered(field, tools)
    return fields


def _words(field: Any, tools: Collection[str]) -> Any:
    if isinstance(field, list):
        return [_words(item, tools) for item in cast("list[Any]", field)]
    if not isinstance(field, str):
        return field
    return _TOOL.sub(
        lambda match: match[0] if match[0] in tools else _INSTEAD.get(match[0], match[0]), field
    )
