"""Claude Code: reads its session logs into the schema all flavours share."""

from __future__ import annotations

import math

import msgspec

from session_memory.adapters.block_records import has_type, tail_record
from session_memory.adapters.claude.attachments import attachment
from session_memory.adapters.claude.events import (
    Emitter,
    Handler,
    assistant,
    progress,
    queue_operation,
    subagent_message,
    system,
    user,
)
from session_memory.adapters.claude.leaves import owners_in
from session_memory.adapters.claude.records import (
    CacheWrites,
    Message,
    Record,
    Spent,
    read_record,
    record_of,
)
from session_memory.adapters.common import (
    Block,
    Json,
    Normalized,
    SourceFile,
    as_object,
    as_text,
    parse_time,
    recover_records,
)
from session_memory.adapters.gather import PartBuilder
from session_memory.adapters.packed import unpacked_name
from session_memory.core.pricing import special_mode
from session_memory.core.schema import Usage
from session_memory.regex_cache import compiled

_HANDLERS: dict[str, Handler] = {
    "assistant": assistant,
    "attachment": attachment,
    "progress": progress,
    "queue-operation": queue_operation,
    "system": system,
    "user": user,
}
_FACTS = {
    "agent-name": ("label", "agent_name"),
    "ai-title": ("title.ai", "ai_title"),
    "custom-title": ("title.custom", "custom_title"),
    "pr-link": ("pr", "pr_url"),
    "summary": ("title.summary", "summary"),
}
"""Records that only say something about the session: which fact, from which field."""

_IGNORED = frozenset(
    {
        "api-request",
        "api-request-blob",  # with -shape: the request's prompts and system text a second time
        "api-request-shape",
        "atis-latch",
        "bridge-session",
        "cost-state",  # cumulative over resumes, so it cannot be added up
        "file-history-delta",
        "file-history-snapshot",
        "last-prompt",
        "mode",
        "permission-mode",
        "tools-used",
    }
)
_KNOWN_TYPES = frozenset({*_HANDLERS, *_FACTS, *_IGNORED})


def parse(source: SourceFile, block: Block, state: dict[str, Json]) -> Normalized:
    """Read one block. Each line stands alone, so any split of a file gives the same facts."""
    reading = _Reading(source.path, as_text(state.get("version")), as_text(state.get("session")))
    reading.leaf_owners = owners_in(block) if block.side_files else {}
    for offset, line in block.lines:
        record = read_record(line, _KNOWN_TYPES)
        if record is not None:
            reading.take(offset, record)
            continue
        reading.bundle.damage(offset)
        for inner, fields in recover_records(line, _is_record):
            reading.bundle.recovered += 1
            reading.take(offset + inner, record_of(fields))
    for offset, fields in tail_record(block, reading.bundle, has_type):
        reading.take(offset, record_of(fields))
    return reading.result(block.too_long)


class _Reading:
    """The parts of the sessions found so far in one block of one file."""

    def __init__(self, path: str, version: str, session: str) -> None:
        self._names = _FileNames.of(path)
        self._version = version
        self._session = session
        """The session that the records before spoke of: those without an id are of it too."""
        self.leaf_owners: dict[str, str] = {}
        """Sessions by a record of theirs that a summary names."""
        self._parts: dict[str, PartBuilder] = {}
        self.bundle = Normalized()
        self._out = Emitter(self.bundle.ignored)

    def take(self, offset: int, record: Record) -> None:
        """Read one whole record."""
        kind = record.type
        if not kind:
            self.bundle.damage(offset)
            return
        self.bundle.records += 1
        if record.version:
            self._version = record.version
        if record.session_id:
            self._session = record.session_id
        elif self._session:
            record.session_id = self._session
        if kind in _HANDLERS:
            message = subagent_message(record) if kind == "progress" else None
            if message is not None:
                self._part(message).note("stand_in", "parent", offset)
                self._events(offset, message, message.type or "")
            else:
                self._events(offset, record, kind)
        elif kind in _IGNORED:
            self.bundle.ignored[kind] += 1
        elif kind in _FACTS:
            self._fact(offset, record, kind)
        else:
            self._events(offset, record, kind)

    def _fact(self, offset: int, record: Record, kind: str) -> None:
        if kind == "summary" and record.session_id is None:
            # It names the last message of another session, whose log is another file.
            record.session_id = self.leaf_owners.get(record.leaf_uuid or "")
            if record.session_id is None:
                self.bundle.ignored["summary of another session"] += 1
                return
        name, field = _FACTS[kind]
        if value := getattr(record, field):
            self._part(record).note(name, value, offset)

    def result(self, too_long: int) -> Normalized:
        """Everything read, as one bundle."""
        self.bundle.too_long = too_long
        self.bundle.sessions = [part.build() for part in self._parts.values()]
        state = {"version": self._version, "session": self._session}
        self.bundle.state = {name: value for name, value in state.items() if value}
        return self.bundle

    def _part(self, record: Record) -> PartBuilder:
        session, parent = self._names.owner(record)
        part = self._parts.get(session)
        if part is None:
            part = self._parts[session] = PartBuilder(session, parent)
        return part

    def _events(self, offset: int, record: Record, kind: str) -> None:
        part, out = self._part(record), self._out
        at = parse_time(record.timestamp)
        out.begin(record.uuid, offset, at)
        out.by_agent = part.parent is not None or record.is_sidechain is True
        if kind == "assistant":
            usage = usage_of(record, at)
            if usage is not None:
                part.spend(usage)
                out.usage_key = usage.key
        handler = _HANDLERS.get(kind)
        if handler is None:
            out.opaque(kind, kind, record.fields)
        else:
            handler(record, out)
        if out.unknown:
            for what in out.unknown:
                self.bundle.unknown[self._version, what] += 1
            out.unknown.clear()
        _note_envelope(part, record, offset)
        if at is not None:
            part.note_opened(at, offset)
            if out.events:
                part.note_time(at, offset)
        part.events += out.events


_DATED = compiled(r"\d{4}-\d\d-\d\d-([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$")
"""The name of a log that some other tool copied: a day, then the session."""


class _FileNames(msgspec.Struct, frozen=True):
    """What a log's own name says, for records that do not say it themselves."""

    session: str
    agent: str | None

    @staticmethod
    def of(path: str) -> _FileNames:
        parts = path.replace("\\", "/").split("/")
        stem = unpacked_name(parts[-1]).removesuffix(".jsonl")
        if dated := _DATED.match(stem):
            return _FileNames(dated.group(1), None)
        if not stem.startswith("agent-"):
            return _FileNames(stem, None)
        below = parts[::-1].index("subagents") if "subagents" in parts else len(parts)
        session = parts[-2 - below] if below + 1 < len(parts) else stem
        return _FileNames(session, stem.removeprefix("agent-"))

    def owner(self, record: Record) -> tuple[str, str | None]:
        """(session, its parent) of a record: sub-agents log under their parent's id."""
        session = record.session_id or self.session
        agent = self.agent
        if agent is None and record.is_sidechain:
            agent = record.agent_id or None
        if agent is None or session == f"agent-{agent}":  # nothing names the parent
            return session, None
        return f"{session}:{agent}", session


def _is_record(value: dict[str, Json]) -> bool:
    """Whether this is a record, not a part of one: those in `agent_progress` have no sessionId."""
    kind = value.get("type")
    if not isinstance(kind, str):
        return False
    if kind == "summary":
        return "leafUuid" in value
    return "sessionId" in value and (kind in _HANDLERS or kind in _FACTS or kind in _IGNORED)


def _note_envelope(part: PartBuilder, record: Record, pos: int) -> None:
    """Facts that every record of the conversation repeats, and sidecar records do not have."""
    message = record.message
    if isinstance(message, Message) and message.model and message.model != "<synthetic>":
        part.note_model(message.model, pos)
    envelope = (
        record.cwd,
        record.entrypoint,
        record.git_branch,
        record.version,
        record.agent_name,
        record.team_name,
        record.forked_from,
    )
    if part.envelope == envelope:
        part.repeat(pos)
        return
    part.change_envelope(envelope)
    if record.cwd:
        part.note("cwd", record.cwd, pos)
        # Only here: a sidecar record without entrypoint says nothing about who started the session.
        started_by = "exec" if (record.entrypoint or "").startswith("sdk") else "interactive"
        part.note("source_kind", "subagent" if part.parent else started_by, pos)
    if record.entrypoint:
        part.note("entrypoint", record.entrypoint, pos)
    if record.git_branch:
        part.note("branch", record.git_branch, pos)
    if record.version:
        part.note("client_version", record.version, pos)
    if label := "@".join(filter(None, (record.agent_name, as_text(record.team_name)))):
        part.note("label", label, pos)
    origin = as_text(record.forked_from) or as_text(as_object(record.forked_from).get("sessionId"))
    if origin:
        part.note("forked_from", origin, pos)


def usage_of(record: Record, at: int | None) -> Usage | None:
    """What the API response behind an assistant record cost, as far as this copy of it knows."""
    message = record.message
    if not isinstance(message, Message):
        return None
    usage = message.usage
    name = message.id or record.uuid
    if usage is None or usage == _NOTHING or not name:
        return None
    written = usage.cache_creation or _NO_WRITES
    long = written.ephemeral_1h_input_tokens or 0
    short = written.ephemeral_5m_input_tokens or 0
    flat = usage.cache_creation_input_tokens or 0
    details = usage.output_tokens_details
    cost = record.cost
    spending = Usage(
        key=f"{name}:{record.request_id or ''}",
        model=message.model or "",
        at=at,
        input=usage.input_tokens or 0,
        output=usage.output_tokens or 0,
        cache_read=usage.cache_read_input_tokens or 0,
        cache_write_5m=short + max(0, flat - short - long),
        cache_write_1h=long,
        reasoning=(details and details.thinking_tokens) or 0,
        usd=float(cost) if isinstance(cost, int | float) and math.isfinite(cost) else None,
        sidechain=record.is_sidechain is True,
        mode=special_mode(usage.speed) or special_mode(usage.service_tier),
    )
    spent = spending.input or spending.output or spending.cache_read or short or long or flat
    return None if spending.model == "<synthetic>" and not spent else spending


_NOTHING, _NO_WRITES = Spent(), CacheWrites()
