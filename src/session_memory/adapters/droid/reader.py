"""Droid's sessions: finds them and reads them.

sessions/<slug>/<id>.jsonl           the conversation, in Anthropic's blocks
sessions/<slug>/<id>.settings.json   the model, and the tokens of the whole session
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator

from session_memory.adapters.block_records import has_type
from session_memory.adapters.claude.text import split_user_text, text_of
from session_memory.adapters.common import (
    Normalized,
    SourceFile,
    as_count,
    as_object,
    as_text,
    decode_record,
    parse_time,
    walk_files,
)
from session_memory.adapters.droid import AGENT
from session_memory.adapters.emit_blocks import BlockEmitter
from session_memory.adapters.gather import PartBuilder
from session_memory.adapters.packed import unpacked_name
from session_memory.adapters.whole_log import (
    Record,
    Records,
    line_log_adapter,
    side_file,
    with_sides,
)
from session_memory.core.schema import Usage

SETTINGS = "settings"
_KINDS = frozenset(
    {
        "session_start",
        "message",
        "todo_state",
        "compaction_state",
        "agent_turn_outcome",
        "session_end",
    }
)
_SILENT = frozenset({"todo_state", "agent_turn_outcome", "session_end"})
_MODEL = re.compile(r"^\s*(?:[-*] )?Model: *([^\s(][^\n(]{0,99})", re.M)


def discover(root: str) -> Iterator[SourceFile]:
    """Every session of Droid's home."""
    for base in (root, os.path.join(root, ".factory")):
        folder = os.path.join(base, "sessions")
        if os.path.isdir(folder):
            for file in walk_files(folder, ".jsonl"):
                yield with_sides(file, [_settings_of(file.path)])
            return


def _settings_of(path: str) -> str:
    return f"{unpacked_name(path).removesuffix('.jsonl')}.settings.json"


def side_files(path: str) -> dict[str, bytes]:
    """The settings of a session."""
    content = side_file(_settings_of(path))
    return {SETTINGS: content} if content else {}


def is_record(record: Record) -> bool:
    """Whether an object is a line of the log, and not a block in one."""
    return as_text(record.get("type")) in _KINDS


def emit(source: SourceFile, records: Records, bundle: Normalized, sides: dict[str, bytes]) -> None:
    """Read a whole session."""
    starts = [record for _, record in records if record.get("type") == "session_start"]
    start = starts[0] if starts else {}
    name = unpacked_name(os.path.basename(source.path)).removesuffix(".jsonl")
    parent = as_text(start.get("callingSessionId")) or None
    part = PartBuilder(as_text(start.get("id")) or name, parent)
    title = as_text(start.get("sessionTitle"))
    part.begin(cwd=as_text(start.get("cwd")), title="" if title == "New Session" else title)
    emitter = SessionEmitter(part, bundle)
    for _, record in records:
        emitter.emit(record)
    settings = decode_record(sides.get(SETTINGS, b"")) or {}
    _note_settings(emitter, settings)
    emitter.finish(source.mtime_ns // 1_000_000 or None)


def _note_settings(emitter: SessionEmitter, settings: Record) -> None:
    """The model, and one figure for the whole session that a later one replaces."""
    part = emitter.part
    model = as_text(settings.get("model"))
    if model:
        part.note_model(model, len(part.events))
    spent = as_object(settings.get("tokenUsage"))
    total = Usage(
        key=f"{part.external_id}:total",
        model=model or emitter.model,
        at=emitter.at,
        input=as_count(spent.get("inputTokens")),
        output=as_count(spent.get("outputTokens")),
        cache_read=as_count(spent.get("cacheReadTokens")),
        cache_write_5m=as_count(spent.get("cacheCreationTokens")),
    )
    if part.events and (total.input or total.output or total.cache_read or total.cache_write_5m):
        part.spend(total)


class SessionEmitter(BlockEmitter):
    """Turns the records of one session into events."""

    model = ""

    def emit(self, record: Record) -> None:
        """Take in one record."""
        kind = as_text(record.get("type"))
        self.at = parse_time(record.get("timestamp")) or self.at
        if kind == "message":
            self._message(record)
        elif kind == "compaction_state":
            self.compact(as_text(record.get("summaryText")))
        elif kind in _SILENT:
            self.ignore(kind)
        elif kind != "session_start":
            self.unknown(kind, record)

    def _message(self, record: Record) -> None:
        message = as_object(record.get("message"))
        role, content = as_text(message.get("role")), message.get("content")
        if role not in ("user", "assistant"):
            self.unknown(f"message/{role or 'no role'}", record)
        elif message.get("visibility") == "user_only":  # said to the user, not by them
            self.add("system", "harness", text_of(content), "notice")
        elif role == "user" and message.get("visibility") == "llm_only":
            self.inject(text_of(content), "hidden")
        else:
            self.emit_blocks(role, content)

    def user_text(self, text: str) -> None:
        """One block: what the client put there, or what the user typed, or both."""
        for piece in split_user_text(text):
            if piece.kind == "user_prompt":
                self.prompt(piece.text)
                continue
            self.add(piece.kind, piece.origin, piece.text, piece.label)
            model = _MODEL.search(piece.text) if piece.label == "system_reminder" else None
            if model:
                self.model = model[1].strip()
                self.part.note_model(self.model, len(self.part.events))


ADAPTER = line_log_adapter(
    AGENT,
    discover=discover,
    is_record=is_record,
    is_whole=has_type,
    emit=emit,
    side_files=side_files,
)
