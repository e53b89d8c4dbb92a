"""Reads built and genuine Grok Build directories as the sweep does."""

from __future__ import annotations

from pathlib import Path

from session_memory.adapters.common import Normalized, RawEvent, SessionPart, SourceFile
from session_memory.adapters.grok.log_builder import GrokLog
from session_memory.adapters.grok.reader import ADAPTER, discover

LINE_CAP = 1 << 20


def parse_source(source: SourceFile, line_cap: int = LINE_CAP) -> Normalized:
    (block,) = ADAPTER.read(source, 0, line_cap)
    return ADAPTER.parse(source, block, {})


def parse_log(log: GrokLog, home: Path, *, without: tuple[str, ...] = ()) -> Normalized:
    """Write a built session where Grok would, and parse what discovery finds there."""
    log.write(home, without=without)
    (source,) = discover(str(home))
    return parse_source(source)


def part_of(bundle: Normalized) -> SessionPart:
    """The session itself; links to its sub-agents come after it."""
    return bundle.sessions[0]


def told(bundle: Normalized) -> list[tuple[str, str]]:
    """Kind and text of every event, in order."""
    return [(event.kind, event.text) for event in part_of(bundle).events]


def of_kind(bundle: Normalized, kind: str) -> list[RawEvent]:
    return [event for event in part_of(bundle).events if event.kind == kind]


def facts(part: SessionPart) -> dict[str, str | int]:
    """Facts by name; of a set, the last."""
    return {fact.name: fact.value for fact in part.facts}
