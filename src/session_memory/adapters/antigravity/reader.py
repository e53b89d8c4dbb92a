"""Antigravity's conversations: finds them and reads them.

    brain/<id>/.system_generated/logs/transcript_full.jsonl   steps with all of their text
    brain/<id>/.system_generated/logs/transcript.jsonl        the same steps, long texts cut
    history.jsonl                                             prompts, with the folder of each

Of the two transcripts the one with more steps is read, never both. Conversations without either,
which only the client's own databases hold, are not read.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import BinaryIO

import msgspec

from session_memory.adapters.antigravity import AGENT
from session_memory.adapters.antigravity.steps import StepEmitter
from session_memory.adapters.common import (
    Block,
    Normalized,
    SourceFile,
    as_list,
    as_object,
    as_text,
    decode_record,
    parse_time,
    source_at,
    unreadable,
)
from session_memory.adapters.excerpt import compact_json
from session_memory.adapters.gather import PartBuilder
from session_memory.adapters.vscode_places import uri_path
from session_memory.adapters.whole_log import (
    Record,
    Records,
    line_log_adapter,
    side_file,
    with_sides,
)
from session_memory.plain_files import open_plain

FULL, CUT = "transcript_full.jsonl", "transcript.jsonl"
_LOGS = (".system_generated", "logs")
_PROMPTS = "prompts"
_APART_MS = 60_000
"""How far the times of a prompt in the history and in the conversation may be apart."""


def discover(root: str) -> Iterator[SourceFile]:
    """Every conversation that has a transcript."""
    try:
        folders = sorted(entry.path for entry in os.scandir(os.path.join(root, "brain")))
    except OSError:
        return
    for folder in folders:
        logs = os.path.join(folder, *_LOGS)
        paths = [path for name in (FULL, CUT) if os.path.lexists(path := os.path.join(logs, name))]
        if paths:
            file = source_at(paths[0])
            yield with_sides(file, paths[1:]) if file else unreadable(paths[0])


def is_step(record: Record) -> bool:
    """Whether an object is a step, and not one nested in it."""
    return type(record.get("step_index")) is int and as_text(record.get("type")) != ""


def in_order(records: Records) -> list[Record]:
    """Steps by their number: they may be written out of order, and again."""
    steps = {record["step_index"]: record for _, record in records}
    return [steps[number] for number in sorted(steps)]


def emit(source: SourceFile, records: Records, bundle: Normalized, sides: dict[str, bytes]) -> None:
    """Read a whole conversation."""
    home, conversation = _names(source.path)
    part = PartBuilder(_session_id(home, conversation))
    part.begin()
    steps = in_order(records)
    for _ in range(len(records) - len(steps)):
        bundle.ignored["step written again"] += 1
    emitter = StepEmitter(part, bundle)
    emitter.emit(steps)
    prompts = as_list((decode_record(sides.get(_PROMPTS, b"")) or {}).get(_PROMPTS))
    if folder := _folder(conversation, emitter, [as_object(prompt) for prompt in prompts]):
        part.note("cwd", folder, 0)
    emitter.finish(source.mtime_ns // 1_000_000 or None)
    if part.events:
        for child in emitter.children:
            if (name := _session_id(home, child)) != part.external_id:
                link = PartBuilder(name, part.external_id)
                link.note("parent", part.external_id, 0)
                bundle.sessions.append(link.build())


def _names(path: str) -> tuple[str, str]:
    """(name of the home, conversation), from the path alone."""
    parts = path.replace("\\", "/").split("/")
    if len(parts) > 5 and parts[-5] == "brain":
        return parts[-6], parts[-4]
    return "", os.path.splitext(parts[-1])[0]


def _session_id(home: str, conversation: str) -> str:
    """Conversations with the same name in different homes are different ones."""
    return f"{home}:{conversation}" if home else conversation


def _folder(conversation: str, emitter: StepEmitter, prompts: list[Record]) -> str:
    """The folder of the first prompt: by the conversation's name, else by its text and time."""
    named = [row for row in prompts if row.get("conversationId") == conversation]
    began = next((event.at for event in emitter.part.events if event.kind == "user_prompt"), None)
    for row in named or prompts:
        folder = uri_path(as_text(row.get("workspace")))
        at = parse_time(row.get("timestamp"))
        same = row.get("display") == emitter.first_prompt and not row.get("conversationId")
        if folder and (named or (same and at and began and abs(at - began) <= _APART_MS)):
            return folder
    return ""


def side_files(path: str) -> dict[str, bytes]:
    """The prompts that may name a conversation's folder."""
    parts = path.split(os.sep)
    if len(parts) < 6 or parts[-5] != "brain":
        return {}
    rows: list[Record] = []
    content = side_file(os.sep.join([*parts[:-5], "history.jsonl"])) or b""
    for line in content.splitlines():
        row = decode_record(line) or {}
        if row.get("conversationId") in (None, "", parts[-4]):
            names = ("display", "timestamp", "workspace", "conversationId")
            rows.append({name: row[name] for name in names if name in row})
    return {_PROMPTS: compact_json({_PROMPTS: rows}).encode()} if rows else {}


_LINES = line_log_adapter(
    AGENT, discover=discover, is_record=is_step, emit=emit, side_files=side_files
)


def read(file: SourceFile, offset: int, line_cap: int) -> Iterator[Block]:
    """The better of a conversation's two transcripts."""
    return _LINES.read(_better(file), offset, line_cap)


def open_lines(file: SourceFile) -> BinaryIO:
    """The bytes that offsets count in."""
    return _LINES.open(_better(file))


def _better(file: SourceFile) -> SourceFile:
    """The transcript with more lines; of equal ones that with all of the text."""
    if os.path.basename(file.path) != FULL:
        return file
    other = os.path.join(os.path.dirname(file.path), CUT)
    try:
        if _line_count(other) > _line_count(file.path):
            return msgspec.structs.replace(file, path=other)
    except OSError:
        pass
    return file


def _line_count(path: str) -> int:
    with open_plain(path) as stream:
        return sum(chunk.count(b"\n") for chunk in iter(lambda: stream.read(1 << 20), b""))


ADAPTER = msgspec.structs.replace(_LINES, read=read, open=open_lines)
