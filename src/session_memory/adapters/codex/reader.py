"""Codex: finds its rollout files and reads them into the schema all flavours share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, cast

import msgspec

from session_memory.adapters.block_records import line_records, tail_record
from session_memory.adapters.codex import AGENT
from session_memory.adapters.codex.cost import token_count, usage_record
from session_memory.adapters.codex.events import compacted, event_msg, inter_agent
from session_memory.adapters.codex.files import discover, read, thread_of
from session_memory.adapters.codex.items import ITEMS, response_item
from session_memory.adapters.codex.records import (
    EventRow,
    Header,
    HeaderRow,
    ItemRow,
    OtherRow,
    Record,
    Row,
    TurnRow,
    item_of,
    read_row,
    row_of,
)
from session_memory.adapters.codex.session import SETTINGS, note_event, note_session, note_settings
from session_memory.adapters.codex.state import Emitter, ReaderState
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

_HANDLERS: dict[str, Callable[[Record, Emitter], None]] = {
    "compacted": compacted,
    "inter_agent_communication": inter_agent,
}
_IGNORED = frozenset(
    {
        "inter_agent_communication_metadata",
        "security_risk_score",
        "session_state",
        "world_state",  # the client's settings and instructions, once more
    }
)
_ROWS = frozenset(
    {
        *_HANDLERS,
        *_IGNORED,
        "event_msg",
        "response_item",
        "session_meta",
        "token_usage_record",
        "turn_context",
    }
)
_TURN_STARTS = frozenset({"task_started", "turn_started"})

Shape = Literal["row", "header", "item", "state", "document", "none"]


def parse(source: SourceFile, block: Block, state: dict[str, Json]) -> Normalized:
    """Read one block; what later lines need of earlier ones travels in the state."""
    reading = _Reading(source.path, msgspec.convert(state, ReaderState))
    for offset, line in block.lines:
        row = read_row(line)
        if row is not None:
            reading.take_row(offset, row, line)
            continue
        alone = Block([(offset, line)], offset, offset)
        for start, record in line_records(alone, reading.bundle, _is_row):
            reading.take(start, record)
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

    def take_row(self, offset: int, row: Row, line: bytes) -> None:
        """Read the row of a line."""
        self._out.begin(offset, parse_time(row.timestamp), line)
        self._row(row)

    def take(self, offset: int, record: Record) -> None:
        """Read one whole record."""
        shape = shape_of(record)
        if shape == "none":
            self.bundle.damage(offset)
            return
        self._out.begin(offset, parse_time(record.get("timestamp")))
        if shape == "row":
            row = row_of(record)
            self._out.hold(as_object(record["payload"]))
            self._row(row)
            return
        self.bundle.records += 1
        if shape == "header":
            self._session(cast("Header", record), self._out.at)
        elif shape == "item":
            self._out.hold(record)
            response_item(item_of(record), self._out)
        elif shape == "document":
            self._document(record)
        else:
            self.bundle.ignored["state"] += 1
        if self._out.events:
            self._keep(self._thread())

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

    def _row(self, row: Row) -> None:
        self.bundle.records += 1
        out = self._out
        if isinstance(row, HeaderRow):
            self._session(row.payload, out.at)
            return
        part = self._part or self._thread()
        if isinstance(row, ItemRow):
            self._item(row)
        elif isinstance(row, EventRow):
            self._event(row, part)
        elif isinstance(row, TurnRow):
            self._turn(row, part)
        elif isinstance(row, OtherRow):
            self._other(row, part)
        if out.events:
            self._keep(part)
            if out.at is not None and self._state.lineage.owner == part.external_id:
                part.note_time(out.at, out.pos)

    def _item(self, row: ItemRow) -> None:
        out = self._out
        if self._state.lineage.inherited(out.at, row.ordinal) and self._is_elsewhere():
            return
        if row.metadata:
            row.payload.metadata = as_object(row.metadata)
        response_item(row.payload, out)

    def _event(self, row: EventRow, part: PartBuilder) -> None:
        state, event, at = self._state, row.payload, self._out.at
        kind = event.type
        if kind in _TURN_STARTS:
            state.lineage.turn(event.turn_id or "", parse_time(event.started_at))
            state.recorded = False
        copied = state.lineage.inherited(at, row.ordinal)
        spent = token_count(event.info, at, state) if kind == "token_count" else None
        if copied:
            if self._is_elsewhere():
                return
        elif spent is not None:
            part.spend(spent)
        elif kind in SETTINGS:
            note_event(part, event, state, self._out.pos)
        event_msg(event, self._out)

    def _turn(self, row: TurnRow, part: PartBuilder) -> None:
        state, settings = self._state, row.payload
        started = parse_time(settings.get("started_at"))
        state.lineage.turn(as_text(settings.get("turn_id")), started)
        if state.lineage.inherited(self._out.at, row.ordinal):
            self.bundle.ignored["inherited"] += 1
        else:
            note_settings(part, settings, state, self._out.pos)

    def _other(self, row: OtherRow, part: PartBuilder) -> None:
        state, kind, at = self._state, row.kind, self._out.at
        copied = state.lineage.inherited(at, row.ordinal)
        spent = usage_record(row.payload, at, state) if kind == "token_usage_record" else None
        handler = _HANDLERS.get(kind)
        if copied and handler is None:
            self.bundle.ignored["inherited"] += 1
        elif copied and self._is_elsewhere():
            return
        elif spent is not None:
            part.spend(spent)
        elif handler is not None:
            handler(row.payload, self._out)
        elif kind in _IGNORED:
            self.bundle.ignored[kind] += 1
        elif kind not in _ROWS:
            self._out.opaque(kind, kind, row.payload)

    def _is_elsewhere(self) -> bool:
        """Whether a copied row is known by reference: its own thread has it, under its own time."""
        if self._state.lineage.keeps_time(self._out.at):
            return False
        self.bundle.ignored["inherited"] += 1
        return True

    def _session(self, header: Header, opened: int | None) -> None:
        """The first header names the thread; later ones repeat it or come with a copied history."""
        lineage, thread = self._state.lineage, as_text(header.get("id"))
        made_at = parse_time(header.get("timestamp"))
        if not lineage.thread:
            lineage.open(thread or thread_of(self._path), made_at, opened)
        if thread and thread != lineage.thread:
            lineage.add(thread, made_at)
            self.bundle.ignored["inherited"] += 1
            return
        note_session(self._thread(), header, self._state, self._path, self._out.pos)

    def _document(self, record: Record) -> None:
        """The TypeScript client's file: one object with a header and all items."""
        self._session(cast("Header", as_object(record["session"])), None)
        for item in as_list(record["items"]):
            if isinstance(item, dict):
                fields = as_object(item)
                self._out.hold(fields)
                response_item(item_of(fields), self._out)

    def _keep(self, part: PartBuilder) -> None:
        """Give the events of a record to their thread; what is unknown is one of them, too."""
        out = self._out
        for what in out.unknown:
            self.bundle.unknown[self._state.version, what] += 1
        out.unknown.clear()
        part.events += out.events


def _is_whole(record: Record) -> bool:
    return shape_of(record) != "none"


def _is_row(value: Record) -> bool:
    """Tells a row from an object inside one."""
    return shape_of(value) == "row" and value["type"] in _ROWS and "timestamp" in value


ADAPTER = AGENT.adapter(discover=discover, parse=parse, read=read, version=PARSER_VERSION)
