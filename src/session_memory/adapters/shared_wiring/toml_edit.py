"""Text-preserving edits of TOML: tables at the end and one line at the top, and out again.

The texts are cut and joined, not rewritten: a round trip through a TOML writer moves blank lines
and comments about. What comes out is always compared with what went in, by its values.
"""

from __future__ import annotations

import re
from typing import Any

import msgspec

from session_memory.adapters.shared_wiring.json_text import as_list, as_object
from session_memory.errors import Refused
from session_memory.regex_cache import compiled

Name = tuple[str, ...]
"""A table's dotted name, in its parts."""

_TOKEN = compiled(
    r'"""(?:[^\\]|\\.)*?"""|\'\'\'.*?\'\'\'|"(?:[^"\\\n]|\\.)*"|\'[^\'\n]*\'|#[^\n]*|[\[\]{}\n]',
    re.DOTALL,
)


class Table(msgspec.Struct, frozen=True):
    """A header and what belongs to it, up to the next header and what stands right above that."""

    name: Name
    start: int
    end: int


def values(text: str) -> dict[str, Any]:
    """The values of a text; refuses one that is not TOML."""
    import tomllib

    try:
        return tomllib.loads(text.removeprefix("\ufeff"))
    except (ValueError, RecursionError) as error:  # also an integer of thousands of digits
        raise Refused(
            f"it is not valid TOML ({error})", hint="fix the file first; nothing was written"
        ) from None


def get(text: str, name: Name) -> Any:
    """The value of that name; None where there is none."""
    here: Any = values(text)
    for part in name:
        here = as_object(here).get(part)
    return here


def add_table(text: str, name: Name, content: dict[str, Any]) -> tuple[str, str]:
    """The text with a table at its end, and what was put between the two."""
    newline = _newline(text)
    joint = "" if not text.strip() else newline if text.endswith("\n") else newline * 2
    added = text + joint + _rendered(name, content, newline)
    return _checked(text, added, name, content), joint


def change_table(text: str, name: Name, content: dict[str, Any]) -> str:
    """Other values for some keys of a table, None to drop one; its other keys and comments stay."""
    table = next((table for table in tables(text) if table.name == name), None)
    if table is None:
        raise Refused(f"`{'.'.join(name)}` is not a table of its own", hint="remove it by hand")
    piece = text[table.start : table.end]
    document = _kit().parse(piece)
    here: Any = document
    for part in name:
        here = here[part]
    for key, value in content.items():
        if value is None:
            here.remove(key)
        elif here.get(key) != value:
            here[key] = _inline(value)
    changed = text[: table.start] + document.as_string() + text[table.end :]
    wanted = {**get(text, name), **content}
    expected = {key: value for key, value in wanted.items() if value is not None}
    return _checked(text, changed, name, expected)


def remove_tables(text: str, name: Name, joint: str | None = None) -> str:
    """The text without a table and its sub-tables; `joint` is what was put in front of it."""
    removed = [table for table in tables(text) if table.name[: len(name)] == name]
    newline = _newline(text)
    for place, table in reversed(list(enumerate(removed))):
        before, after = text[: table.start], text[table.end :]
        if joint is not None and not place:
            before = before.removesuffix(joint)
        elif before.endswith(newline * 2):
            before = before.removesuffix(newline)
        if before and after and not before.endswith("\n"):
            before += newline
        text = before + after
    return text


def rename_table(text: str, old: Name, new: Name) -> str:
    """The text with another name in a table's header; one without such a table stays as it is."""
    table = next((table for table in tables(text) if table.name == old), None)
    if table is None:
        return text
    line = text.find("\n", table.start)
    line = len(text) if line < 0 else line
    end = text.rfind("]", table.start, line) + 1
    return text[: table.start] + _header(new) + text[end:]


def add_line(text: str, key: str, value: Any) -> str:
    """The text with one more key above everything else."""
    mark = "\ufeff" if text.startswith("\ufeff") else ""
    line = _kit().dumps({key: value}).replace("\n", _newline(text))
    added = mark + line + text.removeprefix("\ufeff")
    return _checked(text, added, (key,), value)


def remove_line(text: str, key: str) -> str:
    """The text without a key that stands on one line of its own, above the first table."""
    top = min((table.start for table in tables(text)), default=len(text))
    pattern = re.compile(rf"^{re.escape(key)}[ \t]*=[^\n]*(?:\n|\Z)", re.MULTILINE)
    line = pattern.search(text.removeprefix("\ufeff"), 0, top)
    if line is None:
        return text
    shift = len(text) - len(text.removeprefix("\ufeff"))
    less = text[: line.start() + shift] + text[line.end() + shift :]
    left = values(text)
    left.pop(key, None)
    try:
        cut = values(less)
    except Refused:
        cut = None
    if cut != left:
        raise Refused(f"`{key}` is not on a line of its own", hint=f"remove `{key}` by hand")
    return less


def tables(text: str) -> list[Table]:
    """Every table with a header of its own, in the order of the text."""
    starts = list(_headers(text))
    result: list[Table] = []
    for place, (start, name) in enumerate(starts):
        end = starts[place + 1][0] if place + 1 < len(starts) else len(text)
        if place + 1 < len(starts):
            end = _without_lead(text, start, end)
        result.append(Table(name, start, end))
    return result


def _headers(text: str) -> list[tuple[int, Name]]:
    """Where each header begins, and its name."""
    headers: list[tuple[int, Name]] = []
    depth, line, skip_to = 0, 0, -1
    for token in _TOKEN.finditer(text):
        mark = token.group()
        if token.start() < skip_to:
            continue
        if mark == "\n":
            line = token.end()
        elif mark in "[{":
            if mark == "[" and not depth and not text[line : token.start()].strip(" \t\ufeff"):
                end = text.find("\n", token.start())
                end = len(text) if end < 0 else end
                headers.append((line, _name(text[token.start() : end])))
                skip_to = end
                continue
            depth += 1
        elif mark in "]}":
            depth -= 1
    return headers


def _name(header: str) -> Name:
    """The name in a header, read by a real parser: it may be quoted."""
    import tomllib

    here: Any = tomllib.loads(header.rstrip())
    parts: list[str] = []
    while here:
        here = as_list(here)[0] if as_list(here) else here  # [[name]]
        for key in as_object(here):
            parts.append(key)
        here = next(iter(as_object(here).values()), None)
    return tuple(parts)


def _without_lead(text: str, start: int, end: int) -> int:
    """The end of a table without the blank lines and comments right above the next header."""
    lines = text[start:end].splitlines(keepends=True)
    while len(lines) > 1 and (not lines[-1].strip() or lines[-1].lstrip().startswith("#")):
        end -= len(lines.pop())
    return end


def _kit() -> Any:
    """tomlkit, loaded by the first change: 15 ms, and most looks at a file change nothing."""
    import tomlkit

    return tomlkit


def _rendered(name: Name, content: dict[str, Any], newline: str) -> str:
    table = _kit().table()
    for key, value in content.items():
        table.add(key, _inline(value))
    return f"{_header(name)}\n{table.as_string()}".replace("\n", newline)


def _header(name: Name) -> str:
    return f"[{'.'.join(_kit().key(part).as_string() for part in name)}]"


def _inline(value: Any) -> Any:
    if not as_object(value):
        return _kit().item({} if value == {} else value)
    inline: Any = _kit().inline_table()
    inline.update(value)
    return inline


def _checked(before: str, after: str, name: Name, content: Any) -> str:
    """Refuse an edit that does anything but what it is meant to."""
    wanted = values(before)
    here: Any = wanted
    for part in name[:-1]:
        here = here.setdefault(part, {})
        if here and not as_object(here):
            raise Refused(f"`{part}` is not a table", hint="fix the file first")
    here[name[-1]] = content
    try:
        done = values(after)
    except Refused:
        done = None
    if done != wanted:
        raise Refused(
            f"`{'.'.join(name)}` cannot be added to it as it is written",
            hint="write its tables with headers of their own, such as [mcp_servers.name]",
        )
    return after


def _newline(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"
