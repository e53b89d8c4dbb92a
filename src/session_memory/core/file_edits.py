"""The edits of a session as diffs by file, from what its edit calls say."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from typing import Any, cast

import msgspec

from session_memory.regex_cache import compiled

DIFF_LINES = 400
"""Of one edit; a longer one is cut."""
_COMPARED_LINES = 2_000
_OLD = ("old_string", "oldString", "old_str", "oldText")
_NEW = ("new_string", "newString", "new_str", "newText")
_WHOLE = ("content", "contents", "file_text")
_PATHS = ("file_path", "filePath", "path", "target_file")
_PATCH = compiled(r"^\*\*\* (?:Add|Update|Delete) File: (.+?)\s*$")


class FileDiff(msgspec.Struct, frozen=True):
    """What changes in one file; each line with its first sign."""

    path: str
    lines: tuple[str, ...]


def line_diff(before: str, after: str) -> tuple[str, ...]:
    """The lines that differ, with two lines around them."""
    old, new = before.splitlines(), after.splitlines()
    if len(old) + len(new) > _COMPARED_LINES:  # comparing takes the square of the length
        changed = [f"-{line}" for line in old] + [f"+{line}" for line in new]
        return tuple(changed[:DIFF_LINES])
    return tuple(list(difflib.unified_diff(old, new, lineterm="", n=2))[2 : DIFF_LINES + 2])


def edits_in(call: str, files: tuple[str, ...]) -> list[FileDiff]:
    """The edits of one call; a file without lines where the log does not say what changed."""
    try:
        given: Any = msgspec.json.decode(call)
    except (msgspec.DecodeError, ValueError):
        given = call
    edits = list(_edits(given, files[0] if files else ""))
    edited_paths = {edit.path for edit in edits}
    return edits + [FileDiff(path, ()) for path in files if path not in edited_paths]


def _edits(given: object, path: str) -> Iterator[FileDiff]:
    if isinstance(given, str):
        yield from _patched(given)
    if not isinstance(given, dict):
        return
    fields = cast("dict[str, object]", given)
    path = _text(fields, _PATHS) or path
    old, new, whole = (_text(fields, names) for names in (_OLD, _NEW, _WHOLE))
    if old is not None or new is not None:
        yield FileDiff(path, line_diff(old or "", new or ""))
    elif whole is not None:
        yield FileDiff(path, line_diff("", whole))
    edits = fields.get("edits")
    for edit in cast("list[object]", edits) if isinstance(edits, list) else ():
        yield from _edits(edit, path)
    for name in ("input", "patch", "patchText"):
        yield from _patched(_text(fields, (name,)) or "")


def _patched(text: str) -> Iterator[FileDiff]:
    """The files of an apply_patch text."""
    path, lines = "", list[str]()
    for line in text.splitlines() if "*** Begin Patch" in text else ():
        if line.startswith("*** "):
            if path:
                yield FileDiff(path, tuple(lines[:DIFF_LINES]))
            named = _PATCH.match(line)
            path, lines = (named[1] if named else ""), []
        elif path:
            lines.append(line)


def _text(fields: dict[str, object], names: tuple[str, ...]) -> str | None:
    return next((value for name in names if isinstance(value := fields.get(name), str)), None)
