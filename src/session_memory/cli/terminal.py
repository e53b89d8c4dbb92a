"""What the terminal can show: its width, colours by meaning, and how wide a text is."""

from __future__ import annotations

import sys
import unicodedata
from collections.abc import Mapping, Sequence
from typing import Literal, TextIO

import click

from session_memory.regex_cache import compiled

Meaning = Literal["error", "warn", "ok", "dim", "strong"]

_COLORS: dict[Meaning, str] = {"error": "red", "warn": "yellow", "ok": "green"}
NARROWEST = 20
"""The least number of columns for folded text next to its lead."""
_MARK = compiled(r"[-!] |\d{1,3}\. ")
"""What an item of a list begins with."""
_BARS = "▁▂▃▄▅▆▇█"


def paint(text: str, meaning: Meaning | None) -> str:
    """Text with the codes for its meaning; `click.echo` removes them where colour is off."""
    if meaning is None or not text:
        return text
    dim, bold = meaning == "dim" or None, meaning == "strong" or None
    return click.style(text, fg=_COLORS.get(meaning), dim=dim, bold=bold)


def wants_color(choice: str, environ: Mapping[str, str], is_terminal: bool) -> bool:
    """Whether to colour: the flag decides, then NO_COLOR, FORCE_COLOR, TERM and the terminal."""
    if choice != "auto":
        return choice == "always"
    if environ.get("NO_COLOR"):
        return False
    if environ.get("FORCE_COLOR"):
        return True
    return is_terminal and environ.get("TERM") != "dumb"


def columns(stream: TextIO | None = None) -> int | None:
    """The width to fit into; None where the output (of stdout) goes to a file or a program."""
    if not (sys.stdout if stream is None else stream).isatty():
        return None
    import shutil  # 2 ms that a command without a terminal does not need

    return shutil.get_terminal_size().columns


def width(text: str) -> int:
    """Columns that a text without codes takes on a terminal."""
    if text.isascii():
        return len(text)
    wide = sum(unicodedata.east_asian_width(character) in "WF" for character in text)
    marks = sum(unicodedata.combining(character) > 0 for character in text)
    return len(text) + wide - marks


def cut(text: str, limit: int) -> str:
    """A text cut to at most this many columns, with an ellipsis where it was cut."""
    if width(text) <= limit:
        return text
    while text and width(text) > limit - 1:
        text = text[:-1]
    return text + "…"


def fold(text: str, limit: int) -> list[str]:
    """A text in lines of at most this many columns, broken at spaces where possible."""
    lines = [""]
    for word in text.split(" "):
        if lines[-1] and width(lines[-1]) + 1 + width(word) <= limit:
            lines[-1] += f" {word}"
            continue
        if lines[-1]:
            lines.append("")
        for character in word:
            if width(lines[-1]) + width(character) > limit:
                lines.append("")
            lines[-1] += character
    return lines


def sparkline(values: Sequence[float], environ: Mapping[str, str]) -> str:
    """The values as small bars; empty where only plain text is read (pipes, dumb terminals)."""
    plain = not sys.stdout.isatty() or environ.get("TERM") == "dumb"
    highest = max(values, default=0)
    if plain or highest <= 0 or "utf" not in (sys.stdout.encoding or "").lower():
        return ""
    steps = len(_BARS) - 1
    return "".join(_BARS[round(max(value, 0) / highest * steps)] for value in values)


def fit(text: str, stream: TextIO | None = None) -> str:
    """Plain text with its long lines folded; further lines are indented like their first one."""
    limit = columns(stream)
    if limit is None:
        return text
    lines: list[str] = []
    for line in text.split("\n"):
        content = line.lstrip(" ")
        indent = line[: len(line) - len(content)]
        if mark := _MARK.match(content):
            indent, content = f"{indent}{mark.group()}", content[mark.end() :]
        lines += hanging(indent, content, limit)
    return "\n".join(lines)


def hanging(lead: str, text: str, limit: int | None, meaning: Meaning | None = None) -> list[str]:
    """A text behind a lead, folded so that its further lines start below its first one."""
    indent = width(click.unstyle(lead))
    if limit is not None and limit - indent < min(NARROWEST, width(text)):
        parts = fold(text, max(limit - 4, 1))  # on lines of its own, below the lead
        return [lead.rstrip(), *(f"    {paint(part, meaning)}" for part in parts)]
    parts = [text] if limit is None else fold(text, limit - indent)
    first, *rest = (paint(part, meaning) for part in parts)
    return [f"{lead}{first}", *(f"{'':{indent}}{part}" for part in rest)]
