"""JSON objects out of what a model wrote: lenient about wrapping, strict about content."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, cast

from session_memory.errors import ModelFailed

FENCE = re.compile(r"```[ \t]*(json)?[ \t]*\r?\n?(.*?)```", re.DOTALL | re.IGNORECASE)
TYPES: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "array": (list,),
    "object": (dict,),
}


def parse_object(text: str) -> dict[str, Any]:
    """The one JSON object in an answer; raises ModelFailed "unable to parse" when there is none.

    Tried in order: the whole answer, a json fence, a bare fence, everything from the first brace to
    the last.
    """
    trimmed = text.strip()
    for candidate in _candidates(trimmed):
        try:
            found: Any = json.loads(candidate)
        except (ValueError, RecursionError):
            continue
        if isinstance(found, dict):
            return cast("dict[str, Any]", found)
    # Of the answer itself nothing: errors are kept and shown, and it may repeat what a log said.
    raise ModelFailed(f"unable to parse a JSON object from an answer of {len(text)} characters")


def parse_answer(text: str, schema: dict[str, Any]) -> dict[str, Any]:
    """The object in an answer, holding every required key with a value of its type.

    Keys the schema does not name are let through: a model that says too much still said it.
    """
    found = parse_object(text)
    wrong = next(_faults(found, schema), None)
    if wrong is not None:
        raise ModelFailed(f"the answer's JSON payload {wrong}")
    return found


def _candidates(text: str) -> Iterator[str]:
    yield text
    fences = FENCE.findall(text)
    for named in (True, False):
        yield from (body for label, body in fences if bool(label) is named)
    begin, end = text.find("{"), text.rfind("}")
    if 0 <= begin < end:
        yield text[begin : end + 1]


def _faults(found: dict[str, Any], schema: dict[str, Any]) -> Iterator[str]:
    for key in schema.get("required", ()):
        if key not in found:
            yield f'has no "{key}"'
    for key, about in schema.get("properties", {}).items():
        if key in found and not _fits(found[key], about):
            yield f'has no {about.get("type")} as "{key}"'


def _fits(value: Any, about: dict[str, Any]) -> bool:
    types: Any = about.get("type", ())
    names = cast("list[str]", [types] if isinstance(types, str) else list(types))
    if not names:
        return True
    if value is None:
        return "null" in names
    if isinstance(value, bool):  # to Python a boolean is a number too
        return "boolean" in names
    return any(isinstance(value, TYPES.get(name, ())) for name in names)
