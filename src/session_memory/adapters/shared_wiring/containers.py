"""Containers of a JSON file that were made for us, and what it takes to remove them. Pure."""

from __future__ import annotations

from typing import Any

import msgspec

from session_memory.adapters.shared_wiring import json_edit
from session_memory.adapters.shared_wiring.json_text import Path, value_at
from session_memory.errors import Refused


class OriginalLayout(msgspec.Struct, frozen=True, omit_defaults=True):
    """How a file looked before our first change, as far as restoring it byte for byte needs it."""

    made: tuple[Path, ...] = ()
    """Containers that were not there before."""
    empty: dict[str, str] = {}
    """What was inside containers that were empty, by their joined names."""
    joint: str | None = None
    """What stands between a TOML text and our table."""
    blank: str | None = None
    """The file's whole text, where that was nothing but blanks."""
    nulls: tuple[Path, ...] = ()
    """Containers that were `null` before; they are among `made` too."""


def put(text: str, path: Path, key: str, value: Any) -> str:
    """The text with this member in an object, new or changed."""
    if json_edit.has(text, (*path, key)):
        return json_edit.replace(text, (*path, key), value)
    return json_edit.insert(text, path, key, value)


def container(
    text: str, path: Path, kind: Any, layout: OriginalLayout
) -> tuple[str, OriginalLayout]:
    """The text with a container at that path, and whether it had to be made."""
    current = value_at(text, path)
    if isinstance(current, type(kind)):
        return text, layout
    if current is not None:
        raise Refused(
            f"`{'.'.join(map(str, path))}` is not what this program expects there",
            hint="fix the file first; nothing was written",
        )
    made = tuple(dict.fromkeys((*layout.made, path)))
    if json_edit.has(text, path):  # null: nothing is there, in the words of its user
        nulls = tuple(dict.fromkeys((*layout.nulls, path)))
        layout = msgspec.structs.replace(layout, made=made, nulls=nulls)
        return json_edit.replace(text, path, kind), layout
    text, layout = add(text, path[:-1], str(path[-1]), kind, layout)
    return text, msgspec.structs.replace(layout, made=made)


def add(
    text: str, path: Path, key: str | None, value: Any, layout: OriginalLayout
) -> tuple[str, OriginalLayout]:
    """The text with one more member or element; how an empty container looked is kept."""
    inside = json_edit.inside(text, path)
    if inside is not None and path not in layout.made:
        layout = msgspec.structs.replace(layout, empty={**layout.empty, _joined(path): inside})
    return json_edit.insert(text, path, key, value), layout


def unmade(text: str, path: Path, layout: OriginalLayout) -> str:
    """The text without an empty container that was made for us."""
    if path in layout.nulls:
        return json_edit.replace(text, path, None)
    return json_edit.delete(text, path, empty(layout, path[:-1]))


def empty(layout: OriginalLayout, path: Path) -> str | None:
    """How a container looked that was empty before us."""
    return layout.empty.get(_joined(path))


def _joined(path: Path) -> str:
    return "\x1f".join(map(str, path))
