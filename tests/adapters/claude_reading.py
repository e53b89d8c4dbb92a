"""Reads built and genuine Claude logs as the sweep does, and folds what several blocks say."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from session_memory.adapters.claude.log_builder import ClaudeLog
from session_memory.adapters.claude.reader import parse
from session_memory.adapters.common import Block, Normalized, RawEvent, SessionPart, SourceFile
from session_memory.adapters.common import read_lines as blocks_of
from session_memory.adapters.gather import PartBuilder


def source(path: str | Path) -> SourceFile:
    return SourceFile(str(path), 0, 0, 0, 0, 0)


def block_of(content: bytes) -> Block:
    """Lines of a file's content as one block, without the reader's own rules."""
    lines: list[tuple[int, bytes]] = []
    offset = 0
    for line in content.splitlines(keepends=True):
        lines.append((offset, line.rstrip(b"\n")))
        offset += len(line)
    return Block(lines, 0, offset)


def parse_rows(*rows: Any, path: str = "/logs/one.jsonl") -> Normalized:
    """Parse records given as values."""
    content = "".join(json.dumps(row) + "\n" for row in rows).encode()
    return parse(source(path), block_of(content), {})


def parse_log(log: ClaudeLog, home: Path) -> Normalized:
    """Write a built log where Claude Code would, and parse it there."""
    return parse(source(log.path(home)), block_of(log.dump()), {})


def parse_file(path: Path, block_bytes: int = 1 << 22) -> list[Normalized]:
    """Parse a file block by block, handing the state on."""
    found: list[Normalized] = []
    state: dict[str, Any] = {}
    for block in blocks_of(str(path), block_bytes=block_bytes):
        found.append(parse(source(path), block, state))
        state = found[-1].state
    return found


def fold(bundles: list[Normalized]) -> dict[str, SessionPart]:
    """One part per session out of many blocks, by the rules of facts and usages."""
    whole: dict[str, PartBuilder] = {}
    for part in (part for bundle in bundles for part in bundle.sessions):
        held = whole.setdefault(
            part.external_id, PartBuilder(part.external_id, part.parent_external_id)
        )
        held.events += part.events
        for fact in part.facts:
            held.note(fact.name, fact.value, fact.pos)
        for usage in part.usages:
            held.spend(usage)
    return {name: part.build() for name, part in whole.items()}


def events(bundle: Normalized) -> list[RawEvent]:
    """All events of a bundle that holds one session."""
    (part,) = bundle.sessions
    return part.events


def event(bundle: Normalized) -> RawEvent:
    """The only event of a bundle."""
    (only,) = events(bundle)
    return only


def facts(part: SessionPart) -> dict[str, str | int]:
    """Facts by name; of a set, one."""
    return {fact.name: fact.value for fact in part.facts}
