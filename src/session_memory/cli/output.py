"""How results look: JSON for programs, text for people, and nothing a terminal would obey."""

from __future__ import annotations

import re
import sys
import unicodedata
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager

import click
import msgspec

from session_memory.clock import iso
from session_memory.core.text.safe_text import HIDING, one_line, safe
from session_memory.file_names import storable

__all__ = [
    "byte_progress",
    "emit_json",
    "human_bytes",
    "human_time",
    "one_line",
    "safe",
    "table",
    "to_json",
    "wants_color",
]

SCHEMA_VERSION = 1

_UNSAFE_JSON = re.compile(f"[\x7f-\x9f{HIDING}]")


def _spell_json(match: re.Match[str]) -> str:
    units = match.group().encode("utf-16-be")
    return "".join(f"\\u{units[i]:02x}{units[i + 1]:02x}" for i in range(0, len(units), 2))


def to_json(value: Mapping[str, object] | msgspec.Struct, *, indent: int = 0) -> str:
    """One JSON object that carries the version of its shape and no raw control character."""
    fields = msgspec.to_builtins(value, str_keys=True)
    try:
        encoded = msgspec.json.encode({"schema_version": SCHEMA_VERSION, **fields})
    except UnicodeEncodeError:  # a path of this machine with bytes that are no UTF-8
        encoded = msgspec.json.encode({"schema_version": SCHEMA_VERSION, **storable(fields)})
    if indent:
        encoded = msgspec.json.format(encoded, indent=indent)
    return _UNSAFE_JSON.sub(_spell_json, encoded.decode("utf-8"))


def emit_json(value: Mapping[str, object] | msgspec.Struct) -> None:
    """Print one JSON object to stdout: indented for a person, on one line for a program."""
    click.echo(to_json(value, indent=2 if sys.stdout.isatty() else 0))


def table(rows: Sequence[Sequence[object]], headers: Sequence[str]) -> str:
    """Rows as aligned text; numbers to the right, cut to the terminal's width if there is one."""
    import shutil  # 2 ms that a sweep does not need

    cells = [[_cell(value) for value in row] for row in rows]
    lines = [list(headers), *cells]
    widths = [max(_width(line[column]) for line in lines) for column in range(len(headers))]
    right = [
        bool(rows) and all(isinstance(row[column], int | float) for row in rows)
        for column in range(len(headers))
    ]
    limit = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
    return "\n".join(_row(line, widths, right, limit) for line in lines)


def _cell(value: object) -> str:
    return "-" if value is None else one_line(str(value))


def _row(
    line: Sequence[str], widths: Sequence[int], right: Sequence[bool], limit: int | None
) -> str:
    parts: list[str] = []
    for text, width, to_right in zip(line, widths, right, strict=True):
        padding = " " * (width - _width(text))
        parts.append(padding + text if to_right else text + padding)
    whole = "  ".join(parts).rstrip()
    return whole if limit is None or _width(whole) <= limit else _cut(whole, limit)


def _cut(text: str, limit: int) -> str:
    while text and _width(text) > limit - 1:
        text = text[:-1]
    return text + "…"


def _width(text: str) -> int:
    if text.isascii():
        return len(text)
    wide = sum(unicodedata.east_asian_width(character) in "WF" for character in text)
    marks = sum(unicodedata.combining(character) > 0 for character in text)
    return len(text) + wide - marks


def human_bytes(size: int | None) -> str:
    """A size in binary units; None is a cap that is not there."""
    if size is None:
        return "unlimited"
    if abs(size) < 1024:
        return f"{size} B"
    value = float(size)
    for unit in ("KiB", "MiB", "GiB", "TiB"):
        value /= 1024
        if abs(value) < 1023.95:  # what would round to 1024.0 belongs to the next unit
            return f"{value:.1f} {unit}"
    return f"{value / 1024:.1f} PiB"


_STEPS = (("day", 86_400_000), ("hour", 3_600_000), ("minute", 60_000), ("second", 1000))


def human_time(at_ms: int | None, now_ms: int) -> str:
    """A moment as ISO 8601 followed by how long ago that was."""
    stamp = iso(at_ms)
    if at_ms is None or stamp is None:
        return "-"
    distance = abs(now_ms - at_ms)
    name, size = next((step for step in _STEPS if distance >= step[1]), ("", 1))
    if not name:
        return f"{stamp} (now)"
    count = distance // size
    span = f"{count} {name}{'' if count == 1 else 's'}"
    return f"{stamp} ({span} ago)" if at_ms <= now_ms else f"{stamp} (in {span})"


def wants_color(choice: str, environ: Mapping[str, str], is_terminal: bool) -> bool:
    """Whether to colour: the flag decides, then NO_COLOR, FORCE_COLOR, TERM and the terminal."""
    if choice != "auto":
        return choice == "always"
    if environ.get("NO_COLOR"):
        return False
    if environ.get("FORCE_COLOR"):
        return True
    return is_terminal and environ.get("TERM") != "dumb"


Advance = Callable[[int, int, str], None]


@contextmanager
def byte_progress(*, shown: bool) -> Generator[Advance]:
    """A bar on stderr for (bytes done, bytes in all, file); without a terminal, nothing."""
    if not shown or not sys.stderr.isatty():
        yield lambda _done, _total, _name: None
        return
    from rich.console import Console  # 100 ms, and only a person at a terminal sees it
    from rich.markup import escape
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("reading", total=None)

        def advance(done: int, total: int, name: str) -> None:
            text = escape(one_line(name[-40:]))
            bar.update(task, completed=done, total=total, description=text)

        yield advance
