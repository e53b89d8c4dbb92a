"""Shortens answers that clients would otherwise cut in the middle."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

import msgspec

from session_memory.recall.requests import ANSWER_BYTES

Json = dict[str, Any]


def fit(answer: Json, size: int = ANSWER_BYTES) -> Json:
    """The same answer if it fits, else one with shorter lists that says how much it leaves out.

    Empty fields of items go first, then fields that all items share: both lose no information.
    Then the longest list loses its last item, the least important one, until the answer fits.
    """
    if _size(answer) <= size:
        return answer
    shrunk = _share_fields(cast("Json", _without_empty(answer, 0)))
    left_out: dict[str, int] = {}
    while _size(shrunk) > size:
        name, longest = max(
            _lists(shrunk, ""), key=lambda entry: _size(entry[1]), default=("", list[object]())
        )
        if not longest:
            break
        longest.pop()
        left_out[name] = left_out.get(name, 0) + 1
        shrunk["left_out"] = left_out
        if "count" in shrunk and name == "items":
            shrunk["count"] = len(longest)
    return shrunk


def _size(value: object) -> int:
    return len(msgspec.json.encode(value))


def _without_empty(value: object, depth: int) -> object:
    """A copy without empty fields; the answer's own fields stay."""
    if isinstance(value, dict):
        pairs = cast("Json", value).items()
        return {
            name: _without_empty(field, depth + 1)
            for name, field in pairs
            if depth < 2 or (field is not None and field != [])
        }
    if isinstance(value, list):
        return [_without_empty(item, depth + 1) for item in cast("list[object]", value)]
    return value


def _share_fields(answer: Json) -> Json:
    """Fields that are equal in all items move to `items_share`."""
    listed = cast("list[object]", answer.get("items") or [])
    items = [cast("Json", item) for item in listed if isinstance(item, dict)]
    if len(items) < 2 or len(items) < len(listed):
        return answer
    first, *others = items
    shared = {
        name: value
        for name, value in first.items()
        if all(name in other and other[name] == value for other in others)
    }
    short = [{name: item[name] for name in item if name not in shared} for item in items]
    return {**answer, "items": short, "items_share": shared}


def _lists(value: object, path: str) -> Iterator[tuple[str, list[object]]]:
    """Every list that is not inside another, by its path."""
    if isinstance(value, list):
        if value:
            yield path, cast("list[object]", value)
    elif isinstance(value, dict):
        for name, field in cast("Json", value).items():
            if name != "left_out":
                yield from _lists(field, f"{path}.{name}" if path else name)
