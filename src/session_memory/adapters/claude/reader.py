"""Claude Code: reads its session logs into the schema all flavours share."""

from __future__ import annotations

import math

import msgspec

from session_memory.adapters.block_records import has_type, line_records, tail_record
from session_memory.adapters.claude.attachments import attachment
from session_memory.adapters.claude.events import (
    Emitter,
    Handler,
    Record,
    assistant,
    progress,
    queue_operation,
    subagent_message,
    system,
    user,
)
from session_memory.adapters.claude.leaves import owners_in
from session_memory.adapters.common import (
    Block,
    Json,
    Normalized,
    SourceFile,
    as_count,
    as_object,
    as_text,
    parse_time,
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
    "agent-name": ("label", "agentName"),
    "ai-title": ("title.ai", "aiTitle"),
    "custom-title": ("title.custom", "customTitle"),
    "pr-link": ("pr", "prUrl"),
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


def parse(source: SourceFile, block: Block, state: dict[str, Json]) -> Normalized:
    """Read one block. Each line stands alone, so any split of a file gives the same facts."""
    reading = _Reading(source.path, as_text(state.get("version")), as_text(state.get("session")))
    reading.leaf_owners = owners_in(block) if block.beside else {}
    for offset, record in line_records(block, reading.bundle, _is_record):
        reading.take(offset, record)
    for offset, record in tail_record(block, reading.bundle, has_type):
        reading.take(offset, record)
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
        kind = record.get("type")
        if not isinstance(kind, str) or not kind:
            self.bundle.damage(offset)
            return
        self.bundle.records += 1
        self._version = as_text(record.get("version")) or self._version
        if session := as_text(record.get("sessionId")):
            self._session = session
        elif self._session:
            record = {**record, "sessionId": self._session}
        if kind in _IGNORED:
            self.bundle.ignored[kind] += 1
            return
        if kind == "summary" and not self._session and "sessionId" not in record:
            # It names the last message of another session, whose log is another file.
            owner = self.leaf_owners.get(as_text(record.get("leafUuid")))
            if owner is None:
                self.bundle.ignored["summary of another session"] += 1
                return
            record = {**record, "sessionId": owner}
        if kind in _FACTS:
            name, field = _FACTS[kind]
            if value := as_text(record.get(field)):
                self._part(record).note(name, value, offset)
            return
        message = subagent_message(record) if kind == "progress" else None
        if message is not None:
            self._part(message).note("stand_in", "parent", offset)
            self._events(offset, message, as_text(message.get("type")))
            return
        self._events(offset, record, kind)

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
        at = parse_time(record.get("timestamp"))
        out.begin(record, offset, at)
        out.by_agent = part.parent is not None or record.get("isSidechain") is True
        if kind == "assistant":
            usage = usage_of(record, at)
            if usage is not None:
                part.spend(usage)
                out.usage_key = usage.key
        handler = _HANDLERS.get(kind)
        if handler is None:
            out.opaque(kind, kind, record)
        else:
            handler(record, out)
        for what in out.unknown:
            self.bundle.unknown[self._version, what] += 1
        out.unknown.clear()
        _note_envelope(part, record, offset)
        if at is not None:
            part.note("opened_at", at, offset)
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
        session = as_text(record.get("sessionId")) or self.session
        agent = self.agent
        if agent is None and record.get("isSidechain"):
            agent = as_text(record.get("agentId")) or None
        if agent is None or session == f"agent-{agent}":  # nothing names the parent
            return session, None
        return f"{session}:{agent}", session


def _is_record(value: Record) -> bool:
    """Tells a record from an object inside one: messages in `agent_progress` have no sessionId."""
    kind = value.get("type")
    if not isinstance(kind, str):
        return False
    if kind == "summary":
        return "leafUuid" in value
    return "sessionId" in value and (kind in _HANDLERS or kind in _FACTS or kind in _IGNORED)


_ENVELOPE = ("cwd", "entrypoint", "gitBranch", "version", "agentName", "teamName", "forkedFrom")


def _note_envelope(part: PartBuilder, record: Record, pos: int) -> None:
    """Facts that every record of the conversation repeats, and sidecar records do not have."""
    model = as_text(as_object(record.get("message")).get("model"))
    if model and model != "<synthetic>":
        part.note_model(model, pos)
    envelope = tuple(map(record.get, _ENVELOPE))
    if part.envelope == envelope:
        part.repeat(pos)
        return
    part.change_envelope(envelope)
    entrypoint = as_text(record.get("entrypoint"))
    if cwd := as_text(record.get("cwd")):
        part.note("cwd", cwd, pos)
        # Only here: a sidecar record without entrypoint says nothing about who started the session.
        started_by = "exec" if entrypoint.startswith("sdk") else "interactive"
        part.note("source_kind", "subagent" if part.parent else started_by, pos)
    if entrypoint:
        part.note("entrypoint", entrypoint, pos)
    if branch := as_text(record.get("gitBranch")):
        part.note("branch", branch, pos)
    if version := as_text(record.get("version")):
        part.note("client_version", version, pos)
    names = (as_text(record.get("agentName")), as_text(record.get("teamName")))
    if label := "@".join(filter(None, names)):
        part.note("label", label, pos)
    if "forkedFrom" in record:
        origin = record["forkedFrom"]
        origin = as_text(origin) or as_text(as_object(origin).get("sessionId"))
        if origin:
            part.note("forked_from", origin, pos)


def usage_of(record: Record, at: int | None) -> Usage | None:
    """What the API response behind an assistant record cost, as far as this copy of it knows."""
    message = as_object(record.get("message"))
    usage = as_object(message.get("usage"))
    name = as_text(message.get("id")) or as_text(record.get("uuid"))
    if not usage or not name:
        return None
    written = as_object(usage.get("cache_creation"))
    long = as_count(written.get("ephemeral_1h_input_tokens"))
    short = as_count(written.get("ephemeral_5m_input_tokens"))
    flat = as_count(usage.get("cache_creation_input_tokens"))
    cost = record.get("costUSD")
    found = Usage(
        key=f"{name}:{as_text(record.get('requestId'))}",
        model=as_text(message.get("model")),
        at=at,
        input=as_count(usage.get("input_tokens")),
        output=as_count(usage.get("output_tokens")),
        cache_read=as_count(usage.get("cache_read_input_tokens")),
        cache_write_5m=short + max(0, flat - short - long),
        cache_write_1h=long,
        reasoning=as_count(as_object(usage.get("output_tokens_details")).get("thinking_tokens")),
        usd=float(cost) if isinstance(cost, int | float) and math.isfinite(cost) else None,
        sidechain=record.get("isSidechain") is True,
        mode=_mode(usage),
    )
    spent = found.input or found.output or found.cache_read or short or long or flat
    return None if found.model == "<synthetic>" and not spent else found


def _mode(usage: Record) -> str:
    """What the response was served as; a speed says more than a tier."""
    return special_mode(usage.get("speed")) or special_mode(usage.get("service_tier"))
