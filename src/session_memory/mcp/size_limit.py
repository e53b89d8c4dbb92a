"""Brings an answer under the size beyond which clients cut it in the middle."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

import msgspec

Json = dict[str, Any]
ROOM = 11_500
"""Bytes; recall's own limit, said again as its module would be loaded before the handshake."""


def fit(answer: Json, room: int = ROOM) -> Json:
    """The same answer, or one whose longest lists end earlier and which says by how much.

    First goes what costs no fact: fields of items that say nothing, or the same in all of them.
    Lists stand in order of worth, so what goes then is what matters least; `left_out` counts it.
    """
    if _size(answer) <= room:
        return answer
    shrunk = _shared(cast("Json", _without_nothing(answer, 0)))
    left_out: dict[str, int] = {}
    while _size(shrunk) > room:
        name, longest = max(
            _lists(shrunk, ""), key=lambda one: _size(one[1]), default=("", list[object]())
        )
        if not longest:
            break
        longest.pop()
        left_out[name] = left_out.get(name, 0) + 1
        shrunk["left_out"] = left_out
        if "count" in shrunk and name == "items":
            shrunk["count"] = len(longest)
        if "event_count" in shrunk and name == "events":
            shrunk["event_count"] = len(longest)
    return shrunk


def _size(value: object) -> int:
    return len(msgspec.json.encode(value))


def _without_nothing(value: object, depth: int) -> object:
    """A copy; the answer's own fields stay, whatever they hold."""
    if isinstance(value, dict):
        pairs = cast("Json", value).items()
        return {
            name: _without_nothing(one, depth + 1)
            for name, one in pairs
            if depth < 2 or (one is not None and one != [])
        }
    if isinstance(value, list):
        return [_without_nothing(one, depth + 1) for one in cast("list[object]", value)]
    return value


def _shared(answer: Json) -> Json:
    """What all items say alike is said once, in `items_share`."""
    listed = cast("list[object]", answer.get("items") or [])
    items = [cast("Json", item) for item in listed if isinstance(item, dict)]
    if len(items) < 2 or len(items) < len(listed):
        return answer
    first, *others = items
    alike = {
        name: value
        for name, value in first.items()
        if all(name in other and other[name] == value for other in others)
    }
    short = [{name: one for name, one in item.items() if name not in alike} for item in items]
    return {**answer, "items": short, "items_share": alike}


def _lists(value: object, path: str) -> Iterator[tuple[str, list[object]]]:
    """Every list that is not inside another, by its path."""
    if isinstance(value, list):
        if value:
            yield path, cast("list[object]", value)
    elif isinstance(value, dict):
        for name, one in cast("Json", value).items():
            if name != "left_out":
                yield from _lists(one, f"{path}.{name}" if path else name)
