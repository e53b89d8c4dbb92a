"""Reads built and genuine chats of Gemini CLI and Qwen Code as the sweep does."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from session_memory.adapters.common import (
    Adapter,
    Block,
    Normalized,
    RawEvent,
    SessionPart,
    SourceFile,
)
from session_memory.testing.workspace import Workspace

LINE_CAP = 1 << 26


def parse_source(adapter: Adapter, source: SourceFile, line_cap: int = LINE_CAP) -> Normalized:
    """A file parsed as one block; the reader gives a last line without newline apart."""
    whole = Block([], 0, 0)
    for block in adapter.read(source, 0, line_cap):
        whole.lines += block.lines
        whole.tail, whole.end = block.tail, block.end
        whole.long_lines += block.long_lines
        whole.side_files |= block.side_files
    return adapter.parse(source, whole, {})


def parse_home(adapter: Adapter, home: Path) -> dict[Path, Normalized]:
    """Everything discovery finds, parsed, by path."""
    return {Path(f.path): parse_source(adapter, f) for f in adapter.discover(str(home))}


def parse_one(adapter: Adapter, home: Path) -> Normalized:
    (bundle,) = parse_home(adapter, home).values()
    return bundle


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


def workspace(root: Path, flavor: str) -> Workspace:
    """A workspace whose logs of one flavour are in a folder of its name."""
    space = Workspace(root)
    space.paths[flavor] = (str(root / flavor),)
    (root / flavor).mkdir(parents=True, exist_ok=True)
    return space


def canonical(space: Workspace) -> list[dict[str, Any]]:
    """The dump without the number of events ever captured: what was replaced counts there."""
    entries = space.dump()
    for entry in entries:
        del entry["session"]["event_count"]
    return entries
