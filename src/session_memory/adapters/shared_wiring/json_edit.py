"""Text-preserving edits of JSON: what is put in can be taken out again without a trace.

`delete(insert(text, ...))` gives `text` back to the byte, whatever its indents, line ends, comments
or trailing commas. Of a container that was empty the caller keeps the inside, which is all that an
insertion cannot leave as it was.
"""

from __future__ import annotations

import re
from typing import Any

import msgspec

from session_memory.adapters.shared_wiring.json_text import Child, Node, Path, find, scan, skip
from session_memory.errors import Refused
from session_memory.regex_cache import compiled

_BLANKS = " \t\r\n"
_COMMENT = compiled(r"//[^\n]*|/\*.*?\*/", re.DOTALL)


class _Look(msgspec.Struct, frozen=True):
    """How a text is laid out."""

    newline: str
    unit: str
    flat: bool
    """Everything on one line."""
    tight: bool
    """No blank behind colons."""


def has(text: str, path: Path) -> bool:
    """Whether anything stands at a path; that may be `null`."""
    return find(scan(text), path) is not None


def inside(text: str, path: Path) -> str | None:
    """What an empty container holds (blanks, comments); None for one that is not empty."""
    node = _container(text, path)
    return None if node.children else text[node.start + 1 : node.end - 1]


def insert(text: str, path: Path, key: str | None, value: Any) -> str:
    """Add a last member, or a last element where `key` is None."""
    node = _container(text, path)
    if (node.kind == "array") is (key is not None):
        raise Refused(f"{_name(path)} is not what this program expects there")
    look = _look(text)
    if not node.children:
        return _insert_first(text, node, look, (key, value))
    last = node.children[-1]
    begin = text.rfind("\n", 0, last.start) + 1
    stacked = not look.flat and not text[begin : last.start].strip()
    comma = _comma_after(text, last.end)
    tail_start = last.end if comma is None else comma + 1
    tail = text[tail_start : node.end - 1]
    comments = tail.rstrip(_BLANKS)
    between = text[last.end : tail_start] if comma is not None else ","
    if stacked or _ends_in_comment(comments):
        indent = text[begin : last.start] if stacked else _indent_at(text, node.start) + look.unit
        gap = look.newline + indent
        body = _render(look, indent, (key, value), flat=False)
    else:
        gap = "" if look.tight else " "
        body = _render(look, "", (key, value), flat=True)
    behind = "," if comma is not None else ""
    added = between + comments + gap + body + behind + tail[len(comments) :]
    return text[: last.end] + added + text[node.end - 1 :]


def replace(text: str, path: Path, value: Any) -> str:
    """Another value in the same place."""
    node = find(scan(text), path)
    if node is None:
        raise Refused(f"there is no {_name(path)}")
    look = _look(text)
    flat = look.flat or "\n" not in text[node.start : node.end]
    indent = _indent_at(text, node.start)
    body = _render(look, indent, (None, value), flat=flat)
    return text[: node.start] + body + text[node.end :]


def delete(text: str, path: Path, empty: str | None = None) -> str:
    """Take out a member or element; `empty` is how its container looks with nothing in it."""
    node = _container(text, path[:-1])
    index = next((i for i, child in enumerate(node.children) if child.key == path[-1]), None)
    if index is None:
        raise Refused(f"there is no {_name(path)}")
    child = node.children[index]
    comma = _comma_after(text, child.end)
    start = node.children[index - 1].end if index else node.start + 1
    if len(node.children) == 1:
        return _delete_only(text, node, child, empty)
    if comma is not None:
        after = text[child.end : comma] + text[comma + 1 :]
        if not index and not text[child.end : node.children[1].start].strip(_BLANKS + ","):
            return text[: child.start] + text[node.children[1].start :]  # the next takes its place
        return text[:start] + _without_end(text[start : child.start], after) + after
    joint = _comma_after(text, start)
    if joint is None:  # a scan would have refused it
        raise Refused(f"{_name(path)} is not separated from what is before it")
    between = text[start:joint] + text[joint + 1 : child.start]
    after = text[child.end :]
    return text[:start] + _without_end(between, after) + after


def _delete_only(text: str, node: Node, child: Child, empty: str | None) -> str:
    comma = _comma_after(text, child.end)
    behind = text[child.end : node.end - 1]
    if comma is not None:
        behind = text[child.end : comma] + text[comma + 1 : node.end - 1]
    lead = text[node.start + 1 : child.start]
    left = _without_end(lead, behind + text[node.end - 1 :]) + behind
    if empty is not None and left.strip() == empty.strip():
        left = empty
    return text[: node.start + 1] + left + text[node.end - 1 :]


def _without_end(trivia: str, after: str) -> str:
    """Blanks and comments without the blanks at their end; what follows must not become comment."""
    bare = trivia.rstrip(_BLANKS)
    if _ends_in_comment(bare) and not after.lstrip(" \t\r").startswith("\n"):
        return trivia
    return bare


def _ends_in_comment(trivia: str) -> bool:
    """Whether it ends in a comment that only the end of the line ends."""
    comments = list(_COMMENT.finditer(trivia))
    return (
        bool(comments)
        and comments[-1].end() == len(trivia)
        and comments[-1].group().startswith("//")
    )


def _insert_first(text: str, node: Node, look: _Look, entry: tuple[str | None, Any]) -> str:
    content = text[node.start + 1 : node.end - 1]
    comments = content.rstrip(_BLANKS)
    tail = content[len(comments) :]
    if look.flat and not comments:
        body = _render(look, "", entry, flat=True) + tail
    else:
        outer = _indent_at(text, node.start)
        indent = outer + look.unit
        body = comments + look.newline + indent + _render(look, indent, entry, flat=False)
        body += tail if "\n" in tail else look.newline + outer
    return text[: node.start + 1] + body + text[node.end - 1 :]


def _render(look: _Look, indent: str, entry: tuple[str | None, Any], *, flat: bool) -> str:
    import json  # most commands change no file of an agent

    key, value = entry
    colon = ":" if look.tight else ": "
    if flat:
        comma = "," if look.tight else ", "
        body = json.dumps(value, ensure_ascii=False, separators=(comma, colon))
    else:
        lines = json.dumps(value, ensure_ascii=False, indent=look.unit).split("\n")
        body = (look.newline + indent).join(lines)
    return body if key is None else json.dumps(key, ensure_ascii=False) + colon + body


def _look(text: str) -> _Look:
    root = scan(text)
    first = root.children[0] if root.children else None
    unit = "  "
    flat = first is not None and "\n" not in text[root.start : root.end]
    if first is not None and not flat:
        begin = text.rfind("\n", 0, first.start) + 1
        unit = text[begin : first.start] if not text[begin : first.start].strip() else ""
        unit = unit.lstrip("\ufeff") or "  "
    tight = flat and '": ' not in text
    return _Look("\r\n" if "\r\n" in text else "\n", unit, flat, tight)


def _indent_at(text: str, at: int) -> str:
    """The indent of the line a place stands in."""
    line = text[text.rfind("\n", 0, at) + 1 : at].lstrip("\ufeff")
    return line[: len(line) - len(line.lstrip(" \t"))]


def _comma_after(text: str, at: int) -> int | None:
    place = skip(text, at)
    return place if text[place : place + 1] == "," else None


def _container(text: str, path: Path) -> Node:
    node = find(scan(text), path)
    if node is None or node.kind == "scalar":
        raise Refused(f"{_name(path)} is not what this program expects there")
    return node


def _name(path: Path) -> str:
    return ".".join(map(str, path)) or "its root"
