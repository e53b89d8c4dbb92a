"""GitHub Copilot CLI: finds its session logs and reads them into the schema all flavours share."""

from __future__ import annotations

import os

import msgspec

from session_memory.adapters.block_records import has_type, line_records, tail_record
from session_memory.adapters.common import (
    Block,
    Json,
    Normalized,
    SourceFile,
    as_object,
    as_text,
    parse_time,
)
from session_memory.adapters.copilot import AGENT
from session_memory.adapters.copilot.events import HANDLERS
from session_memory.adapters.copilot.files import WORKSPACE, discover, named, read, session_of
from session_memory.adapters.copilot.kinds import IGNORED
from session_memory.adapters.copilot.legacy import add_document, is_document
from session_memory.adapters.copilot.state import Emitter, Parts, ReaderState, Record
from session_memory.adapters.copilot.yaml import read_pairs
from session_memory.adapters.gather import PartBuilder

__all__ = ["ADAPTER", "Normalized", "discover", "parse", "read"]

PARSER_VERSION = 2


def parse(source: SourceFile, block: Block, state: dict[str, Json]) -> Normalized:
    """Read one block; what later lines need of earlier ones travels in the state."""
    reading = _Reading(source.path, msgspec.convert(state, ReaderState), block.side_files)
    for offset, record in line_records(block, reading.bundle, _is_record):
        reading.take(offset, record)
    reading.remember()
    for offset, record in tail_record(block, reading.bundle, has_type):
        reading.take(offset, record)
    return reading.result(block)


class _Reading:
    """What one block of one file says about its session and the sub-agents in it."""

    def __init__(self, path: str, state: ReaderState, side_files: dict[str, bytes]) -> None:
        self._path = path
        self._state = state
        self.bundle = Normalized()
        self._parts = Parts(state)
        self._out = Emitter(state, PartBuilder(""), self.bundle.ignored)
        self._out.side_files = side_files

    def take(self, offset: int, record: Record) -> None:
        """Read one whole record."""
        if is_document(record):
            self._document(offset, record)
            return
        kind = as_text(record.get("type"))
        if not kind:
            self.bundle.damage(offset)
            return
        self.bundle.records += 1
        data, at = as_object(record.get("data")), parse_time(record.get("timestamp"))
        self._name(data if kind == "session.start" else {})
        if kind in IGNORED:
            self.bundle.ignored[kind] += 1
            return
        agent = as_text(record.get("agentId")) or as_text(data.get("parentToolCallId"))
        if kind == "subagent.started":
            self._note_agent(agent or as_text(data.get("toolCallId")), data, offset)
        if kind.startswith("subagent."):  # news for the one who started it
            agent = ""
        self._out.begin(self._parts.of(agent, offset), offset, at)
        if kind == "assistant.message":
            self._out.main = self._parts.of("", offset)
        handler = HANDLERS.get(kind)
        if handler is None:
            self._out.opaque(kind, record)
        else:
            handler(data, self._out)
        self._keep(offset)

    def remember(self) -> None:
        """Keep the state as it is here: a last line without newline will be read once more."""
        self.bundle.state = msgspec.to_builtins(self._state)

    def result(self, block: Block) -> Normalized:
        """Everything read, as one bundle."""
        self.bundle.too_long = block.too_long
        if self._state.session and WORKSPACE in block.side_files:
            pairs = read_pairs(block.side_files[WORKSPACE].decode("utf-8", "replace"))
            _note_workspace(self._parts.of("", block.start), pairs, self._state, block.end)
        self.bundle.sessions = [part.build() for part in self._parts.all()]
        return self.bundle

    def _name(self, start: Record) -> None:
        """A file's place names its session; a start record may be copied from another."""
        if not self._state.session:
            stem = os.path.basename(self._path).partition(".")[0]
            named = session_of(self._path) or as_text(start.get("sessionId"))
            self._state.session = named or stem

    def _note_agent(self, agent: str, data: Record, offset: int) -> None:
        if not agent:
            return
        part = self._parts.of(agent, offset)
        name = as_text(data.get("agentDisplayName")) or as_text(data.get("agentName"))
        for fact, value in (
            ("label", name),
            ("model", as_text(data.get("model"))),
            ("client_version", self._state.version),
        ):
            if value:
                part.note(fact, value, offset)

    def _document(self, offset: int, record: Record) -> None:
        self.bundle.records += 1
        self._state.session = as_text(record.get("sessionId")) or self._state.session
        self._name({})
        self._out.begin(self._parts.of("", offset), offset, None)
        add_document(record, self._out)
        self._keep(offset)

    def _keep(self, offset: int) -> None:
        out = self._out
        for what in out.unknown:
            self.bundle.unknown[self._state.version, what] += 1
        out.part.events += out.events
        for event in out.events:
            if event.at is not None:
                out.part.note_time(event.at, offset)


def _is_record(value: Record) -> bool:
    """Whether this is a record, not an object inside one: only records have data and a time."""
    kind = as_text(value.get("type"))
    return (kind in HANDLERS or kind in IGNORED) and "data" in value and "timestamp" in value


def _note_workspace(part: PartBuilder, pairs: dict[str, str], state: ReaderState, pos: int) -> None:
    """The session's name, and where it ran if its log does not say."""
    named = "title.custom" if pairs.get("user_named") == "true" else "title.ai"
    facts = [(named, pairs.get("name")), ("title.summary", pairs.get("summary"))]
    if not state.cwd:
        facts += [("cwd", pairs.get("cwd")), ("branch", pairs.get("branch"))]
    for name, value in facts:
        if value:
            part.note(name, value, pos)


ADAPTER = msgspec.structs.replace(
    AGENT.adapter(discover=discover, parse=parse, read=read, version=PARSER_VERSION),
    named=named,
)
