"""How results look: JSON for programs, text for people, without control characters."""

from __future__ import annotations

import sys
from collections.abc import Mapping

import click
import msgspec

from session_memory.cli.progress import byte_progress, count_progress
from session_memory.cli.tables import Column, table
from session_memory.cli.terminal import Meaning, columns, fit, hanging, paint, wants_color
from session_memory.clock import iso
from session_memory.core.text.human_bytes import human_bytes
from session_memory.core.text.safe_text import HIDING, json_escape, one_line, safe
from session_memory.file_names import storable
from session_memory.regex_cache import compiled

__all__ = [
    "Column",
    "Meaning",
    "byte_progress",
    "columns",
    "count_progress",
    "counted",
    "echo_more",
    "emit_json",
    "fit",
    "hanging",
    "human_bytes",
    "human_time",
    "message",
    "one_line",
    "paint",
    "safe",
    "say",
    "table",
    "to_json",
    "wants_color",
]

SCHEMA_VERSION = 1

_UNSAFE_JSON = compiled(f"[\x7f-\x9f{HIDING}]")


def to_json(value: Mapping[str, object] | msgspec.Struct, *, indent: int = 0) -> str:
    """One JSON object that carries the version of its shape and no raw control character."""
    fields = value if isinstance(value, dict) else msgspec.to_builtins(value, str_keys=True)
    try:
        encoded = msgspec.json.encode({"schema_version": SCHEMA_VERSION, **fields})
    except UnicodeEncodeError:  # a path of this machine with bytes that are not UTF-8
        plain = storable(msgspec.to_builtins(value, str_keys=True))
        encoded = msgspec.json.encode({"schema_version": SCHEMA_VERSION, **plain})
    if indent:
        encoded = msgspec.json.format(encoded, indent=indent)
    return _UNSAFE_JSON.sub(json_escape, encoded.decode("utf-8"))


def emit_json(value: Mapping[str, object] | msgspec.Struct) -> None:
    """Print one JSON object to stdout: indented for a person, on one line for a program."""
    click.echo(to_json(value, indent=2 if sys.stdout.isatty() else 0))


def message(lead: str, meaning: Meaning, text: str) -> str:
    """A warning or error for stderr, folded where that is a terminal."""
    first, *rest = safe(text).split("\n")
    lines = hanging(f"{paint(lead, meaning)} ", first, columns(sys.stderr))
    return "\n".join((*lines, *rest))


def counted(count: int, noun: str, plural: str = "") -> str:
    """A number with its noun: 1 file, 2 files."""
    return f"{count:,} {noun if count == 1 else plural or f'{noun}s'}"


def say(text: str) -> None:
    """Print plain text, with long lines folded where a person reads it at a terminal."""
    click.echo(fit(text))


def echo_more(count: int, how: str = "--all") -> None:
    """Say how many lines of a list were left out, and how to see them; not with --quiet."""
    context = click.get_current_context(silent=True)
    quiet = context is not None and getattr(context.find_root().obj, "quiet", False)
    if count > 0 and not quiet:
        click.echo(paint(f"{count:,} more: {how}", "dim"))


_STEPS = (("day", 86_400_000), ("h", 3_600_000), ("min", 60_000))
DATED = 30 * 86_400_000
"""Moments further away than this are shown as a date."""


def human_time(at_ms: int | None, now_ms: int) -> str:
    """How long ago a moment was, or its date where that is long; `--json` has the exact time."""
    stamp = iso(at_ms)
    if at_ms is None or stamp is None:
        return "-"
    distance = abs(now_ms - at_ms)
    if distance >= DATED:
        return stamp[:10]
    name, size = next((step for step in _STEPS if distance >= step[1]), ("", 1))
    if not name:
        return "just now"
    count = distance // size
    span = f"{count} {name}{'s' if name == 'day' and count > 1 else ''}"
    return f"{span} ago" if at_ms <= now_ms else f"in {span}"
