"""Codex: finds its rollout files and reads them into the schema all flavours share."""

from __future__ import annotations

from typing import Literal

import msgspec

from session_memory.adapters.block_records import line_records, tail_record
from session_memory.adapters.codex import AGENT
from session_memory.adapters.codex.cost import token_count, usage_record
from session_memory.adapters.codex.events import compacted, event_msg, inter_agent
from session_memory.adapters.codex.files import discover, read, thread_of
from session_memory.adapters.codex.items import ITEMS, Handler, response_item
from session_memory.adapters.codex.session import SETTINGS, note_session, note_settings
from session_memory.adapters.codex.state import Emitter, ReaderState, Record
from session_memory.adapters.common import (
    Block,
    Json,
    Normalized,
    SourceFile,
    as_list,
    as_object,
    as_text,
    parse_time,
)
from session_memory.adapters.gather import PartBuilder

__all__ = ["ADAPTER", "Normalized", "discover", "parse", "read"]

PARSER_VERSION = 2

_HANDLERS: dict[str, Handler] = {
    "compacted": compacted,
    "event_msg": event_msg,
    "inter_agent_communication": inter_agent,
    "response_item": response_item,
}
_IGNORED = frozenset(
    {
        "inter_agent_communication_metadata",
        "security_risk_score",
        "session_state",
        "world_state",  # the client's settings and instructions, once more
    }
)
_ROWS = frozenset({*_HANDLERS, *_IGNORED, "session_meta", "token_usage_record", "turn_context"})
_TURN_STARTS = frozenset({"task_started", "turn_started"})

Shape = Literal["row", "header", "item", "state", "document", "none"]


def parse(source: SourceFile, block: Block, state: dict[str, Json]) -> Normalized:
    """Read one block; what later lines need of earlier ones travels in the state."""
    reading = _Reading(source.path, msgspec.convert(state, ReaderState))
    for offset, record in line_records(block, reading.bundle, _is_row):
        reading.take(offset, record)
    for offset, record in tail_record(block, reading.bundle, _is_whole):
        reading.take(offset, record)
    return reading.result(block.too_long)


def shape_of(record: Record) -> Shape:
    """Which of the forms Codex has written since 2025 a record has."""
    kind = record.get("type")
    if isinstance(record.get("payload"), dict) and isinstance(kind, str) and kind:
        return "row"
    if isinstance(kind, str):
        return "item" if kind in ITEMS else "none"
    if "record_type" in record:
        return "state"
    if isinstance(record.get("id"), str) and "timestamp" in record:
        return "header"
    both = isinstance(record.get("session"), dict) and isinstance(record.get("items"), list)
    return "document" if both else "none"


class _Reading:
    """What one block of one file says about its thread."""

    def __init__(self, path: str, state: ReaderState) -> None:
        self._path = path
        self._state = state
        self._part: PartBuilder | None = None
        self.bundle = Normalized()
        self._out = Emitter(state, self.bundle.ignored)

    def take(self, offset: int, record: Record) -> None:
        """Read one whole record."""
        shape = shape_of(record)
        if shape == "none":
            self.bundle.damage(offset)
            return
        self.bundle.records += 1
        at = parse_time(record.get("timestamp"))
        self._out.begin(offset, at)
        if shape == "row":
            self._row(offset, record, at)
        elif shape == "header":
            self._session(offset, record, at)
        elif shape == "item":
            response_item(record, self._out)
        elif shape == "document":
            self._document(offset, record)
        else:
            self.bundle.ignored["state"] += 1
        self._keep(offset, at if shape == "row" else None)

    def result(self, too_long: int) -> Normalized:
        """Everything read, as one bundle."""
        self.bundle.too_long = too_long
        if self._part is not None:
            self.bundle.sessions = [self._part.build()]
        self.bundle.state = msgspec.to_builtins(self._state)
        return self.bundle

    def _thread(self) -> PartBuilder:
        """The part of the file's thread; before any header, the file's name says which it is."""
        if self._part is None:
            lineage = self._state.lineage
            if not lineage.thread:
                lineage.open(thread_of(self._path), None, None)
            self._part = PartBuilder(lineage.thread, lineage.parent)
        return self._part

    def _row(self, offset: int, record: Record, at: int | None) -> None:
        kind, payload = as_text(record["type"]), as_object(record["payload"])
        if kind == "session_meta":
            self._session(offset, payload, at)
            return
        part, state = self._thread(), self._state
        said = as_text(payload.get("type"))
        if kind == "turn_context" or said in _TURN_STARTS:
            started = parse_time(payload.get("started_at"))
            state.lineage.turn(as_text(payload.get("turn_id")), started)
            state.recorded = state.recorded and kind == "turn_context"
        ordinal = record.get("ordinal")
        copied = state.lineage.inherited(at, ordinal if type(ordinal) is int else None)
        spent = None
        if kind == "token_usage_record":
            spent = usage_record(payload, at, state)
        elif kind == "event_msg" and said == "token_count":
            spent = token_count(payload, at, state)
        if copied:
            if not state.lineage.keeps_time(at) or kind not in _HANDLERS:
                # Known by reference: the thread it was copied from has it, under its own time.
                self.bundle.ignored["inherited"] += 1
                return
        else:
            if spent is not None:
                part.spend(spent)
            if kind == "turn_context" or said in SETTINGS:
                note_settings(part, kind, payload, state, offset)
        handler = _HANDLERS.get(kind)
        if handler is not None:
            if isinstance(record.get("metadata"), dict):
                payload["_metadata"] = record["metadata"]
            handler(payload, self._out)
        elif kind in _IGNORED:
            self.bundle.ignored[kind] += 1
        elif kind not in _ROWS:
            self._out.opaque(kind, kind, payload)

    def _session(self, offset: int, header: Record, at: int | None) -> None:
        """The first header names the thread; later ones repeat it or come with a copied history."""
        lineage, thread = self._state.lineage, as_text(header.get("id"))
        made_at = parse_time(header.get("timestamp"))
        if not lineage.thread:
            lineage.open(thread or thread_of(self._path), made_at, at)
        if thread and thread != lineage.thread:
            lineage.add(thread, made_at)
            self.bundle.ignored["inherited"] += 1
            return
        note_session(self._thread(), header, self._state, self._path, offset)

    def _document(self, offset: int, record: Record) -> None:
        """The TypeScript client's file: one object with a header and all items."""
        self._session(offset, as_object(record["session"]), None)
        for item in as_list(record["items"]):
            if isinstance(item, dict):
                response_item(as_object(item), self._out)

    def _keep(self, offset: int, at: int | None) -> None:
        out = self._out
        if not out.events:  # what is unknown is kept as an event, too
            return
        for what in out.unknown:
            self.bundle.unknown[self._state.version, what] += 1
        out.unknown.clear()
        part = self._thread()
        part.events += out.events
        if at is not None and self._state.lineage.owner == part.external_id:
            part.note_time(at, offset)


def _is_whole(record: Record) -> bool:
    return shape_of(record) != "none"


def _is_row(value: Record) -> bool:
    """Tells a row from an object inside one."""
    return shape_of(value) == "row" and value["type"] in _ROWS and "timestamp" in value


ADAPTER = AGENT.adapter(discover=discover, parse=parse, read=read, version=PARSER_VERSION)
