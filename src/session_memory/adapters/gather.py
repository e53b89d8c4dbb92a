"""Collects what one block says about one session, keeping only the statements that can win."""

from __future__ import annotations

from session_memory.adapters.common import RawEvent, SessionPart
from session_memory.core.facts import FACT_RULES, Fact, FactRule
from session_memory.core.schema import Usage


class PartBuilder:
    """Mutable while a block is read; `build` gives the finished `SessionPart`.

    Every record of a log repeats its envelope (cwd, branch, version), so a fact per record would
    outweigh the events. Lines arrive in file order, which makes "first" the first seen.
    """

    __slots__ = (
        "_ended",
        "_facts",
        "_model",
        "_opened",
        "_repeated",
        "_started",
        "_usages",
        "envelope",
        "events",
        "external_id",
        "parent",
    )

    def __init__(self, external_id: str, parent: str | None = None) -> None:
        self.external_id = external_id
        self.parent = parent if parent != external_id else None  # no session is its own
        self.events: list[RawEvent] = []
        self.envelope: tuple[object, ...] = ()
        """What the last record said of itself; one that says the same is only `repeat`ed."""
        self._repeated: int | None = None
        self._model = ""
        self._opened = False
        self._started: int | None = None
        self._ended = (0, 0)
        self._facts: dict[tuple[str, str | int | None], Fact] = {}
        self._usages: dict[str, Usage] = {}

    def begin(self, *, cwd: str = "", title: str = "", opened: int | None = None) -> None:
        """What a log says of its whole session, as far as it says it."""
        facts: dict[str, str | int | None] = {
            "source_kind": "subagent" if self.parent else "interactive",
            "parent": self.parent,
            "cwd": cwd,
            "title.ai": title,
            "opened_at": opened,
        }
        for name, value in facts.items():
            if value is not None and value != "":
                self.note(name, value, 0)

    def note(self, name: str, value: str | int, pos: int) -> None:
        """Keep a statement if it wins over what this block said so far."""
        if name == "parent" and value == self.external_id:
            return
        rule = FACT_RULES[name]
        key = (name, value if rule == "set" else None)
        held = self._facts.get(key)
        if held is None and name == "client_version":  # a client may be upgraded in mid-session
            self.note("client_version.first", value, pos)
        if held is None or _beats(value, held.value, rule):
            self._facts[key] = Fact(name, value, pos)

    def note_model(self, model: str, pos: int) -> None:
        """Nearly every record names the model of the one before it."""
        if model != self._model:
            self._model = model
            self.note("model", model, pos)

    def note_opened(self, at: int, pos: int) -> None:
        """When a record was written: the first one counts."""
        if not self._opened:
            self._opened = True
            self.note("opened_at", at, pos)

    def note_time(self, at: int, pos: int) -> None:
        """When an event was written: the session began no later and ended no earlier."""
        if self._started is None or at < self._started:
            self.note("started_at", at, pos)
            if self._started is None:
                self.note("ended_at", at, pos)
                self._ended = (at, pos)
            self._started = at
        elif at > self._ended[0]:  # nearly always, so it becomes a fact only when all are seen
            self._ended = (at, pos)

    def repeat(self, pos: int) -> None:
        """A record whose envelope is the last one's: nothing new, but said again here."""
        self._repeated = pos

    def _note_repeats(self) -> None:
        """Move what a later statement replaces to where it was last repeated."""
        if self._repeated is None:
            return
        for name in ("branch", "client_version", "label"):
            held = self._facts.get((name, None))
            if held is not None:
                self._facts[name, None] = Fact(name, held.value, self._repeated)
        self._repeated = None

    def change_envelope(self, envelope: tuple[object, ...]) -> None:
        """A record that says something else of itself than the last one."""
        self._note_repeats()
        self.envelope = envelope

    def spend(self, usage: Usage) -> None:
        """Count a response once: copies written while it streamed hold placeholders."""
        held = self._usages.get(usage.key)
        self._usages[usage.key] = usage if held is None else _fuller(held, usage)

    def build(self) -> SessionPart:
        """The part, with facts, events and usages in the order they were found."""
        self._note_repeats()
        if self._started is not None:
            self.note("ended_at", *self._ended)
        return SessionPart(
            self.external_id,
            self.parent,
            list(self._facts.values()),
            self.events,
            list(self._usages.values()),
        )


def _beats(value: str | int, held: str | int, rule: FactRule) -> bool:
    if rule == "last":
        return True
    if isinstance(value, int) and isinstance(held, int):
        return (rule == "min" and value < held) or (rule == "max" and value > held)
    return False


def _fuller(first: Usage, second: Usage) -> Usage:
    """The statement that counts: the one with more tokens, among equals the earliest.

    While an answer streams, agents write placeholders with too few tokens, so the fullest is final.
    """
    size, other_size = _usage_size(first), _usage_size(second)
    if size != other_size:
        return first if size > other_size else second
    if first.at is None or (second.at is not None and second.at < first.at):
        return second
    return first


def _usage_size(usage: Usage) -> tuple[int, int, int, int, int, str, str]:
    return (
        usage.output,
        usage.input,
        usage.cache_read,
        usage.cache_write_5m,
        usage.cache_write_1h,
        usage.model,
        usage.mode,
    )
