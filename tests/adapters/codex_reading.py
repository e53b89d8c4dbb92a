"""Reads built and genuine Codex rollouts as the sweep does, and folds what several blocks say."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

from session_memory.adapters.codex.log_builder import CodexLog
from session_memory.adapters.codex.reader import parse, read
from session_memory.adapters.common import Block, Normalized, RawEvent, SessionPart, SourceFile
from session_memory.adapters.gather import PartBuilder


def source(path: str | Path) -> SourceFile:
    return SourceFile(str(path), 0, 0, 0, 0, 0)


def block_of(content: bytes, start: int = 0) -> Block:
    lines: list[tuple[int, bytes]] = []
    offset = start
    for line in content.splitlines(keepends=True):
        lines.append((offset, line.rstrip(b"\n")))
        offset += len(line)
    return Block(lines, start, offset)


def parse_rows(*rows: Any, path: str = "/logs/one.jsonl") -> Normalized:
    """Parse records given as values."""
    content = "".join(json.dumps(row) + "\n" for row in rows).encode()
    return parse(source(path), block_of(content), {})


def parse_log(log: CodexLog, home: Path = Path("/home/.codex")) -> Normalized:
    """Parse a built log under the name Codex would give it."""
    return parse(source(log.path(home)), block_of(log.dump()), {})


def parse_split(content: bytes, path: str, cuts: list[int]) -> list[Normalized]:
    """Parse the lines of a file in several blocks, handing the state on through JSON."""
    lines = content.splitlines(keepends=True)
    bounds = [0, *sorted(cut % (len(lines) + 1) for cut in cuts), len(lines)]
    found: list[Normalized] = []
    state: dict[str, Any] = {}
    start = 0
    for first, last in pairwise(bounds):
        piece = b"".join(lines[first:last])
        found.append(parse(source(path), block_of(piece, start), state))
        state = json.loads(json.dumps(found[-1].state))
        start += len(piece)
    return found


def parse_file(path: Path) -> list[Normalized]:
    """Parse a file as the sweep does, in the blocks its reader gives."""
    found: list[Normalized] = []
    state: dict[str, Any] = {}
    for block in read(source(path), 0, 1 << 26):
        found.append(parse(source(path), block, state))
        state = found[-1].state
    return found


def fold(bundles: list[Normalized]) -> SessionPart:
    """One part out of many blocks, by the rules of facts and usages."""
    whole: PartBuilder | None = None
    for part in (part for bundle in bundles for part in bundle.sessions):
        whole = whole or PartBuilder(part.external_id, part.parent_external_id)
        assert whole.external_id == part.external_id
        whole.parent = part.parent_external_id
        whole.events += part.events
        for fact in part.facts:
            whole.note(fact.name, fact.value, fact.pos)
        for usage in part.usages:
            whole.spend(usage)
    assert whole is not None
    return whole.build()


def only(bundle: Normalized) -> SessionPart:
    """The one session of a bundle."""
    (part,) = bundle.sessions
    return part


def said(bundle: Normalized) -> list[tuple[str, str | None, str]]:
    """(kind, label, text) of every event."""
    return [(event.kind, event.label, event.text) for event in only(bundle).events]


def of_kind(bundle: Normalized, kind: str) -> list[RawEvent]:
    return [event for event in only(bundle).events if event.kind == kind]


def facts(part: SessionPart) -> dict[str, str | int]:
    """Facts by name; of a set, one."""
    return {fact.name: fact.value for fact in part.facts}
