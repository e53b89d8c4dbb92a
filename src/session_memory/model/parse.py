"""Reads the JSON object in a model's answer: lenient about wrapping, strict about content."""

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
    """The JSON object in an answer; raises ModelFailed ("unable to parse") if there is none.

    Tried in order: the whole answer, a fence marked json, a bare fence, and everything from the
    first brace to the last.
    """
    for candidate in _candidates(text.strip()):
        try:
            value: Any = json.loads(candidate)
        except (ValueError, RecursionError):
            continue
        if isinstance(value, dict):
            return cast("dict[str, Any]", value)
    # Do not quote the answer: errors are stored and shown, and it may repeat what a log said.
    raise ModelFailed(f"unable to parse a JSON object from an answer of {len(text)} characters")


def parse_answer(text: str, schema: dict[str, Any]) -> dict[str, Any]:
    """The object in an answer; raises ModelFailed if a required key or a type is wrong.

    Keys that the schema does not name are allowed: an answer with extras is still usable.
    """
    payload = parse_object(text)
    fault = next(_faults(payload, schema), None)
    if fault is not None:
        raise ModelFailed(f"the answer's JSON payload {fault}")
    return payload


def _candidates(text: str) -> Iterator[str]:
    yield text
    fences = FENCE.findall(text)
    for named in (True, False):
        yield from (body for label, body in fences if bool(label) is named)
    begin, end = text.find("{"), text.rfind("}")
    if 0 <= begin < end:
        yield text[begin : end + 1]


def _faults(payload: dict[str, Any], schema: dict[str, Any]) -> Iterator[str]:
    for key in schema.get("required", ()):
        if key not in payload:
            yield f'has no "{key}"'
    for key, expected in schema.get("properties", {}).items():
        if key in payload and not _has_type(payload[key], expected):
            yield f'has no {expected.get("type")} as "{key}"'


def _has_type(value: Any, expected: dict[str, Any]) -> bool:
    types: Any = expected.get("type", ())
    names = cast("list[str]", [types] if isinstance(types, str) else list(types))
    if not names:
        return True
    if value is None:
        return "null" in names
    if isinstance(value, bool):  # in Python a boolean is an integer too
        return "boolean" in names
    return any(isinstance(value, TYPES.get(name, ())) for name in names)
