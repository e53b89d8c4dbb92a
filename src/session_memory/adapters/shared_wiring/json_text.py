"""Where everything stands in a JSON text with comments: a part can change while the rest stays.

A parser that only gives values cannot do that: order, comments, line ends and indents of a user's
file are the user's.
"""

from __future__ import annotations

import json
import re
from functools import lru_cache
from typing import Any, Literal, cast

import msgspec

from session_memory.errors import Refused
from session_memory.regex_cache import compiled

Path = tuple[str | int, ...]
"""Keys and indexes from the root to a value."""

DEEPEST = 100
_TRIVIA = compiled(r"(?:[ \t\r\n\ufeff]+|//[^\n]*|/\*.*?\*/)*", re.DOTALL)
_STRING = compiled(r'"(?:[^"\\\x00-\x1f]|\\.)*"')
_SCALAR = compiled(r"-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|true\b|false\b|null\b")


class Node(msgspec.Struct, frozen=True):
    """A value and where it stands; what is inside it stands there too."""

    kind: Literal["object", "array", "scalar"]
    start: int
    end: int
    children: tuple[Child, ...] = ()


class Child(msgspec.Struct, frozen=True):
    """A member or an element: from the key, or the value itself, to the end of the value."""

    key: str | int
    start: int
    value: Node

    @property
    def end(self) -> int:
        """Behind the value."""
        return self.value.end


@lru_cache(maxsize=4)
def scan(text: str) -> Node:
    """The root of a text; refuses what is not one whole JSON value."""
    root, at = _value(text, skip(text, 0), 0)
    if skip(text, at) != len(text):
        raise _malformed(text, skip(text, at))
    return root


def skip(text: str, at: int) -> int:
    """The next place that is neither blank nor comment."""
    trivia = _TRIVIA.match(text, at)
    return trivia.end() if trivia else at


def is_blank(text: str) -> bool:
    """Whether there is nothing at all: many clients take an empty file for an empty object."""
    return not text.strip(" \t\r\n\ufeff")


def as_object(value: Any) -> dict[str, Any]:
    """An object as it is; anything else as an empty one."""
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def as_list(value: Any) -> list[Any]:
    """A list as it is; anything else as an empty one."""
    return cast("list[Any]", value) if isinstance(value, list) else []


def find(root: Node, path: Path) -> Node | None:
    """The value at a path, or None."""
    here = root
    for step in path:
        below = next((child for child in here.children if child.key == step), None)
        if below is None:
            return None
        here = below.value
    return here


def value_at(text: str, path: Path) -> Any:
    """The value at a path; None where there is none."""
    try:
        # Many times as fast, and what clients write by themselves has no comments.
        here: Any = json.loads(text, object_pairs_hook=_once, parse_constant=_no_constant)
    except (ValueError, RecursionError):
        node = find(scan(text), path)
        return None if node is None else plain(text, node)
    for step in path:
        if isinstance(step, int):
            items = as_list(here)
            here = items[step] if step < len(items) else None
        else:
            here = as_object(here).get(step)
    return here


def plain(text: str, node: Node) -> Any:
    """The value itself."""
    if node.kind == "scalar":
        return json.loads(text[node.start : node.end], strict=False)
    if node.kind == "array":
        return [plain(text, child.value) for child in node.children]
    return {str(child.key): plain(text, child.value) for child in node.children}


def _value(text: str, at: int, depth: int) -> tuple[Node, int]:
    opening = text[at : at + 1]
    if depth > DEEPEST:
        raise Refused("it is nested too deeply to be a configuration")
    if opening == "{":
        return _container(text, at, depth, "object")
    if opening == "[":
        return _container(text, at, depth, "array")
    match = (_STRING if opening == '"' else _SCALAR).match(text, at)
    if match is None:
        raise _malformed(text, at)
    return Node("scalar", at, match.end()), match.end()


def _container(
    text: str, start: int, depth: int, kind: Literal["object", "array"]
) -> tuple[Node, int]:
    closing = "}" if kind == "object" else "]"
    children: list[Child] = []
    names: set[str] = set()
    at = skip(text, start + 1)
    while text[at : at + 1] != closing:
        key: str | int = len(children)
        begin = at
        if kind == "object":
            key, at = _key(text, at, names)
        value, at = _value(text, at, depth + 1)
        children.append(Child(key, begin, value))
        at = skip(text, at)
        if text[at : at + 1] == ",":
            at = skip(text, at + 1)
        elif text[at : at + 1] != closing:
            raise _malformed(text, at)
    return Node(kind, start, at + 1, tuple(children)), at + 1


def _key(text: str, at: int, names: set[str]) -> tuple[str, int]:
    match = _STRING.match(text, at)
    if match is None:
        raise _malformed(text, at)
    key: str = json.loads(match.group())
    colon = skip(text, match.end())
    if text[colon : colon + 1] != ":":
        raise _malformed(text, colon)
    if key in names:
        raise _twice(key)
    names.add(key)
    return key, skip(text, colon + 1)


def _twice(key: str) -> Refused:
    """Which of the two counts is for its reader to say; a change could hit the wrong one."""
    return Refused(f"it names {key!r} twice", hint="remove one of the two, then run this again")


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        names = [key for key, _ in pairs]
        raise _twice(next(key for key in names if names.count(key) > 1))
    return members


def _no_constant(name: str) -> Any:
    raise ValueError(name)


def _malformed(text: str, at: int) -> Refused:
    line = text.count("\n", 0, at) + 1
    column = at - (text.rfind("\n", 0, at) + 1) + 1
    return Refused(
        f"it is not valid JSON (line {line}, column {column})",
        hint="fix the file first; nothing was written",
    )
