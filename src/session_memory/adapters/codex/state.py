"""What a Codex reader carries from one block of a rollout file to the next."""

from __future__ import annotations

from collections import Counter
from typing import Literal

import msgspec

from session_memory.adapters.codex.lineage import Lineage
from session_memory.adapters.codex.records import Record, whole_payload
from session_memory.adapters.common import Json, RawEvent, decode_record
from session_memory.adapters.excerpt import EXCERPT, compact_json, mark_of
from session_memory.core.schema import EventKind, Origin

Side = Literal["item", "event"]
"""Codex says most things twice: as `response_item` and as `event_msg`."""

MAX_TWINS = 24
MAX_CALLS = 500
TOKEN_PARTS = 5


class Outcome(msgspec.Struct):
    """A call that waits for its output, and what events said about its end before that."""

    tool: str = ""
    exit_code: int | None = None
    failed: bool = False
    denied: bool = False
    files: tuple[str, ...] = ()


class ReaderState(msgspec.Struct):
    """Plain values only: the cursor stores it, so that any split of a file reads the same."""

    lineage: Lineage = msgspec.field(default_factory=Lineage)
    version: str = ""
    model: str = ""
    mode: str = ""
    """The service tier that the settings ask for; "" for the standard one."""
    by_agent: bool = False
    """The other side of this conversation is an agent, so no human typed its user text."""
    calls: dict[str, Outcome] = msgspec.field(default_factory=dict[str, Outcome])
    running: list[str] = msgspec.field(default_factory=list[str])
    """Calls whose output came while their process went on."""
    twins: list[list[str]] = msgspec.field(default_factory=list[list[str]])
    totals: list[int] | None = msgspec.field(default_factory=lambda: [0] * TOKEN_PARTS)
    """The last cumulative token counts; None while a parent's, kept elsewhere, are not known."""
    recorded: bool = False
    """This turn states what each response cost, so its cumulative counts only move `totals`."""
    answered: bool = False

    def twin(self, side: Side, role: str, texts: list[str]) -> bool:
        """True if the other side has said this before; then both are done with.

        Whichever comes first is kept: the item for prompts, the event for answers. So a file that
        has only one of the two forms, in whatever version, is read no poorer.
        """
        marks = [mark_of(text) for text in texts]
        for index, (other, its_role, *its_marks) in enumerate(self.twins):
            if other != side and its_role == role and not set(marks).isdisjoint(its_marks):
                del self.twins[index]
                return True
        self.twins.append([side, role, *marks])
        del self.twins[:-MAX_TWINS]
        return False

    def open_call(self, call_id: str | None, tool: str) -> None:
        """Remember a call until its output comes."""
        if call_id is not None:
            self.calls[call_id] = Outcome(tool)
            if len(self.calls) > MAX_CALLS:
                del self.calls[next(iter(self.calls))]

    def left_running(self, call_id: str) -> None:
        """Remember that a call has had its output, but not its end."""
        self.running.append(call_id)
        del self.running[:-MAX_CALLS]


class Emitter:
    """Where the events of the record in hand go, with what they all share."""

    __slots__ = ("_fields", "_line", "at", "count", "events", "ignored", "pos", "state", "unknown")

    def __init__(self, state: ReaderState, ignored: Counter[str]) -> None:
        self.state = state
        self.ignored = ignored
        self.unknown: list[str] = []
        self.events: list[RawEvent] = []
        self.at: int | None = None
        self.pos = 0
        self.count = 0
        self._line = b""
        self._fields: Record | None = None

    def begin(self, pos: int, at: int | None, line: bytes = b"") -> None:
        """Point at the next record; positions count up from its offset in the file."""
        self.events = []
        self.pos, self.at, self.count = pos, at, 0
        self._line, self._fields = line, None

    def hold(self, fields: Record) -> None:
        """Note all fields of what is read next, as they were decoded already."""
        self._fields = fields

    def whole(self) -> Record:
        """All fields of what is being read, for what is kept as it is."""
        if self._fields is None:
            record = decode_record(self._line)
            self._fields = {} if record is None else whole_payload(record)
        return self._fields

    @property
    def speaker(self) -> Origin:
        """Who the assistant of this conversation is."""
        return "subagent" if self.state.by_agent else "agent"

    def add(self, kind: EventKind, origin: Origin, text: str, label: str | None = None) -> RawEvent:
        """Append an event and return it, for the fields only some kinds have."""
        event = RawEvent(self.pos + self.count, kind, origin, text, self.at, label=label)
        self.count += 1
        self.events.append(event)
        return event

    def opaque(self, what: str, label: str, value: Json) -> None:
        """Keep what no parser knows: an excerpt to look at, and a count under its name."""
        self.add("other", "harness", compact_json(value, EXCERPT), label)
        self.unknown.append(what)
