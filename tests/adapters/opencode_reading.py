"""Reads built and genuine OpenCode sessions as the sweep does."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from session_memory.adapters.common import Normalized, RawEvent, SessionPart, SourceFile
from session_memory.adapters.opencode.log_builder import OpenCodeLog
from session_memory.adapters.opencode.reader import ADAPTER, discover

LINE_CAP = 1 << 26
Put = Callable[[OpenCodeLog, Path], object]

PLACES: dict[str, Put] = {
    "database": lambda log, home: log.write(home),
    "storage": lambda log, home: log.write_files(home),
    "export": lambda log, home: log.export(home / f"{log.session_id}.json"),
}
"""Every way a session is kept."""


def parse_source(source: SourceFile, line_cap: int = LINE_CAP) -> Normalized:
    (block,) = ADAPTER.read(source, 0, line_cap)
    return ADAPTER.parse(source, block, {})


def parse_log(log: OpenCodeLog, home: Path, place: str = "database") -> Normalized:
    """Write a built session where OpenCode would, and parse what discovery finds there."""
    PLACES[place](log, home)
    (source,) = discover(str(home))
    return parse_source(source)


def part_of(bundle: Normalized) -> SessionPart:
    (part,) = bundle.sessions
    return part


def told(bundle: Normalized) -> list[tuple[str, str | None, str]]:
    """Kind, label and text of every event, in order."""
    return [(event.kind, event.label, event.text) for event in part_of(bundle).events]


def of_kind(bundle: Normalized, kind: str) -> list[RawEvent]:
    return [event for event in part_of(bundle).events if event.kind == kind]


def facts(part: SessionPart) -> dict[str, str | int]:
    """Facts by name; of a set, the last."""
    return {fact.name: fact.value for fact in part.facts}
