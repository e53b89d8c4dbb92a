"""Qwen Code: finds its session logs and reads them into the schema all flavours share."""

from __future__ import annotations

import msgspec

from session_memory.adapters.block_records import has_type, line_records, tail_record
from session_memory.adapters.claude.events import Emitter
from session_memory.adapters.common import (
    Block,
    Json,
    Normalized,
    SourceFile,
    as_object,
    as_text,
    decode_record,
    parse_time,
)
from session_memory.adapters.gather import PartBuilder
from session_memory.adapters.gemini import reader as gemini
from session_memory.adapters.gemini.events import cut_out
from session_memory.adapters.gemini.files import OUTPUT
from session_memory.adapters.gemini.text import unwrapped
from session_memory.adapters.packed import unpacked_name
from session_memory.adapters.qwen import AGENT
from session_memory.adapters.qwen.events import (
    Handler,
    Record,
    assistant,
    system,
    tool_result,
    user,
)
from session_memory.adapters.qwen.files import META, discover, read
from session_memory.adapters.qwen.usage import PendingResponses

__all__ = ["ADAPTER", "Normalized", "discover", "parse", "read"]

PARSER_VERSION = 1

_HANDLERS: dict[str, Handler] = {
    "assistant": assistant,
    "system": system,
    "tool_result": tool_result,
    "user": user,
}


def parse(source: SourceFile, block: Block, state: dict[str, Json]) -> Normalized:
    """Read one block; documents of older builds are Gemini's."""
    if source.path.endswith(".json"):
        return gemini.parse(source, block, state)
    reading = _Reading(source.path, block.side_files, state)
    for offset, record in line_records(block, reading.bundle, _is_record):
        reading.take(offset, record)
    for offset, record in tail_record(block, reading.bundle, has_type):
        reading.take(offset, record)
    return reading.result(block.too_long)


class _Reading:
    """The parts of the sessions found so far in one block of one file."""

    def __init__(self, path: str, side_files: dict[str, bytes], state: dict[str, Json]) -> None:
        self._names = _FileNames.of(path)
        self._meta = decode_record(side_files.get(META, b"")) or {}
        self._outputs = {
            name.removeprefix(OUTPUT): data for name, data in side_files.items() if name != META
        }
        self._version = as_text(state.get("version"))
        self._pending = PendingResponses(state.get("waiting"))
        self._parts: dict[str, PartBuilder] = {}
        self.bundle = Normalized()
        self._out = Emitter(self.bundle.ignored)

    def take(self, offset: int, record: Record) -> None:
        """Read one whole record."""
        kind = as_text(record.get("type"))
        if not kind:
            self.bundle.damage(offset)
            return
        self.bundle.records += 1
        self._version = as_text(record.get("version")) or self._version
        part, out = self._part(record), self._out
        at = parse_time(record.get("timestamp"))
        out.begin(as_text(record.get("uuid")) or None, offset, at)
        out.by_agent = part.parent is not None or record.get("isSidechain") is True
        self._spend(part, record, kind, at)
        handler = _HANDLERS.get(kind)
        if handler is None:
            out.opaque(kind, kind, record)
        elif not _note_fact(part, record, offset):
            handler(record, out)
        self._overflow()
        for what in out.unknown:
            self.bundle.unknown[self._version, what] += 1
        out.unknown.clear()
        _note_envelope(part, record, offset)
        if at is not None:
            part.note_opened(at, offset)
            if out.events:
                part.note_time(at, offset)
        part.events += out.events

    def result(self, too_long: int) -> Normalized:
        """Everything read, as one bundle."""
        self.bundle.too_long = too_long
        self.bundle.sessions = [part.build() for part in self._parts.values()]
        waiting = self._pending.state()
        state: dict[str, Json] = {"version": self._version, "waiting": waiting}
        self.bundle.state = {name: value for name, value in state.items() if value}
        return self.bundle

    def _part(self, record: Record) -> PartBuilder:
        session, parent = self._names.owner(record, self._meta)
        part = self._parts.get(session)
        if part is None:
            part = self._parts[session] = PartBuilder(session, parent)
            if parent is not None:
                _note_meta(part, self._meta)
        return part

    def _spend(self, part: PartBuilder, record: Record, kind: str, at: int | None) -> None:
        usage = None
        if kind == "assistant":
            model = as_text(record.get("model")) or _started_with(self._meta)
            if model:
                part.note("model", model, self._out.pos)
            key, usage = self._pending.answered(record, at, model)
            self._out.usage_key = key or None
        elif record.get("subtype") == "ui_telemetry":
            usage = self._pending.reported(record, at)
        if usage is not None:
            part.spend(usage)

    def _overflow(self) -> None:
        """What was cut out of a large output, as an event of its own."""
        for event in [e for e in self._out.events if e.kind == "tool_result"]:
            head = event.text[:1000]
            name = next((name for name in self._outputs if name in head), None)
            if name is not None:
                whole = unwrapped(self._outputs[name].decode("utf-8", "replace"))
                _, _, shown = event.text.partition("Preview (up to ")
                rest = cut_out(whole, shown.partition("\n")[2])
                more = self._out.add("other", "tool", rest, "overflow")
                more.call_id = event.call_id


class _FileNames(msgspec.Struct, frozen=True):
    """What a log's own name says, for records that do not say it themselves."""

    session: str
    agent: str | None

    @staticmethod
    def of(path: str) -> _FileNames:
        parts = path.replace("\\", "/").split("/")
        stem = unpacked_name(parts[-1]).removesuffix(".jsonl")
        if len(parts) > 2 and parts[-3] == "subagents":
            return _FileNames(parts[-2], stem.removeprefix("agent-"))
        return _FileNames(stem, None)

    def owner(self, record: Record, meta: Record) -> tuple[str, str | None]:
        """(session, its parent) of a record: sub-agents log under their parent's id."""
        session = as_text(record.get("sessionId")) or self.session
        agent = as_text(record.get("agentId")) if record.get("isSidechain") else ""
        agent = agent or self.agent
        if not agent:
            return session, None
        above = as_text(meta.get("parentAgentId"))
        return f"{session}:{agent}", f"{session}:{above}" if above else session


def _is_record(value: Record) -> bool:
    """Whether this is a record, not an object inside one."""
    return value.get("type") in _HANDLERS and "uuid" in value and "sessionId" in value


def _started_with(meta: Record) -> str:
    """The model a sub-agent was started with: its answers do not say."""
    return as_text(as_object(meta.get("persistedCliFlags")).get("model"))


def _note_meta(part: PartBuilder, meta: Record) -> None:
    if title := as_text(meta.get("description")):
        part.note("title.summary", title, 0)


def _note_fact(part: PartBuilder, record: Record, pos: int) -> bool:
    """Records that only say something about the session; True where this was one."""
    payload = as_object(record.get("systemPayload"))
    match record.get("subtype"):
        case "custom_title":
            name = "title.ai" if payload.get("titleSource") == "auto" else "title.custom"
            fact, value = name, as_text(payload.get("customTitle"))
        case "parent_session":
            fact, value = "parent", as_text(payload.get("parentSessionId"))
        case _:
            return False
    if value:
        part.note(fact, value, pos)
    return True


def _note_envelope(part: PartBuilder, record: Record, pos: int) -> None:
    """Facts that every record repeats."""
    origin = as_text(as_object(record.get("forkedFrom")).get("sessionId"))
    said = [as_text(record.get(key)) for key in ("cwd", "gitBranch", "version", "agentName")]
    envelope = (*said, origin)
    if part.envelope == envelope:
        part.repeat(pos)
        return
    part.change_envelope(envelope)
    part.note("source_kind", "subagent" if part.parent else "interactive", pos)
    names = ("cwd", "branch", "client_version", "label", "forked_from")
    for name, value in zip(names, envelope, strict=True):
        if value:
            part.note(name, value, pos)


ADAPTER = AGENT.adapter(discover=discover, parse=parse, read=read, version=PARSER_VERSION)
