"""What a Copilot reader carries from one block of a log to the next, and where its events go."""

from __future__ import annotations

from collections import Counter

import msgspec

from session_memory.adapters.common import Json, RawEvent
from session_memory.adapters.excerpt import EXCERPT, compact_json
from session_memory.adapters.gather import PartBuilder
from session_memory.core.schema import EventKind, Origin

Record = dict[str, Json]

MAX_CALLS = 500


class ReaderState(msgspec.Struct):
    """Plain values only: the cursor stores it, so that any split of a file reads the same."""

    session: str = ""
    origin: str = ""
    """The session that the log's first record names: another one in a copied history."""
    version: str = ""
    cwd: str = ""
    model: str = ""
    calls: dict[str, str] = msgspec.field(default_factory=dict[str, str])
    """Tools of the calls that wait for their result, by call id."""
    denied: list[str] = msgspec.field(default_factory=list[str])
    """Calls that were refused, until their result comes."""
    recorded: bool = False
    """The log states what each response cost, so totals say the same a second time."""
    began: int | None = None
    """When the session was started, by its start record."""
    written: dict[str, int] = msgspec.field(default_factory=dict[str, int])
    """Output tokens that messages stated, by model."""
    spent: str = ""
    """Key of the last response whose cost was stated."""
    spent_call: str = ""
    """The call that response answered: the message with this id is its text."""
    thought: str = ""
    """Mark of the last thought, which the log may repeat."""

    def open_call(self, call_id: str, tool: str) -> None:
        """Remember a call until its result comes."""
        self.calls[call_id] = tool
        if len(self.calls) > MAX_CALLS:
            del self.calls[next(iter(self.calls))]

    def deny(self, call_id: str) -> None:
        """Remember that a call was refused."""
        self.denied.append(call_id)
        del self.denied[:-MAX_CALLS]


class Parts:
    """The sessions a block speaks of: the file's own, and the sub-agents that log into it."""

    def __init__(self, state: ReaderState) -> None:
        self._state = state
        self._parts: dict[str, PartBuilder] = {}

    def of(self, agent: str, pos: int) -> PartBuilder:
        """The part of a sub-agent, or of the file's own session."""
        state = self._state
        name = f"{state.session}:{agent}" if agent else state.session
        part = self._parts.get(name)
        if part is None:
            part = self._parts[name] = PartBuilder(name, state.session if agent else None)
            if agent:
                part.note("source_kind", "subagent", pos)
                if state.cwd:
                    part.note("cwd", state.cwd, pos)
        return part

    def all(self) -> list[PartBuilder]:
        """Every part, in the order they were met."""
        return list(self._parts.values())


class Emitter:
    """Collects the events of the current record, with what they all share."""

    __slots__ = (
        *("at", "by_agent", "events", "ignored", "main", "part", "pos"),
        *("side_files", "state", "unknown"),
    )

    def __init__(self, state: ReaderState, part: PartBuilder, ignored: Counter[str]) -> None:
        self.state = state
        self.part = self.main = part
        """The session of the current record, and the session of the file."""
        self.ignored = ignored
        self.unknown: list[str] = []
        self.events: list[RawEvent] = []
        self.side_files: dict[str, bytes] = {}
        self.at: int | None = None
        self.pos = 0
        self.by_agent = False

    def begin(self, part: PartBuilder, pos: int, at: int | None) -> None:
        """Point at the next record; positions count up from its offset in the file."""
        self.part, self.pos, self.at = part, pos, at
        self.by_agent = part.parent is not None
        self.events, self.unknown = [], []

    @property
    def speaker(self) -> Origin:
        """Who the assistant of this conversation is."""
        return "subagent" if self.by_agent else "agent"

    def add(self, kind: EventKind, origin: Origin, text: str, label: str | None = None) -> RawEvent:
        """Append an event and return it, for the fields only some kinds have."""
        event = RawEvent(self.pos + len(self.events), kind, origin, text, self.at, label=label)
        self.events.append(event)
        return event

    def opaque(self, what: str, value: Json) -> None:
        """Keep what no parser knows: an excerpt to look at, and a count under its name."""
        self.add("other", "harness", compact_json(value, EXCERPT), what)
        self.unknown.append(what)
