"""Reads built and genuine pi sessions as the sweep does."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from session_memory.adapters.common import Normalized, RawEvent, SessionPart, SourceFile
from session_memory.adapters.pi.log_builder import PiLog
from session_memory.adapters.pi.reader import parse, read


def source(path: str | Path) -> SourceFile:
    return SourceFile(str(path), 0, 0, 0, 0, 0)


def parse_file(path: Path) -> Normalized:
    """Parse a file as the sweep does."""
    (block,) = read(source(path), 0, 1 << 26)
    return parse(source(path), block, {})


def parse_log(log: PiLog, home: Path) -> Normalized:
    """Parse a built session under the name pi would give it."""
    return parse_file(log.write(home))


def parse_rows(home: Path, *rows: Any) -> Normalized:
    """Parse records given as values."""
    path = home / "one.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return parse_file(path)


def only(bundle: Normalized) -> SessionPart:
    """The one session of a bundle."""
    (part,) = bundle.sessions
    return part


def said(bundle: Normalized) -> list[tuple[str, str | None, str]]:
    """(kind, label, text) of every event."""
    return [(event.kind, event.label, event.text) for event in only(bundle).events]


def of_kind(bundle: Normalized, kind: str) -> list[RawEvent]:
    return [event for event in only(bundle).events if event.kind == kind]


def facts(bundle: Normalized) -> dict[str, str | int]:
    """Facts by name; of a set, the last."""
    return {fact.name: fact.value for fact in only(bundle).facts}
