"""What a sweep did, in numbers that add up, and which of its steps failed."""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from session_memory.clock import Clock
from session_memory.core.retention.plan import Reason
from session_memory.core.text.reason import reason_of
from session_memory.file_names import name_to_text

if TYPE_CHECKING:
    from session_memory.store.port import Store

T = TypeVar("T")

NAME_SHOWN = 80
"""How much of the name of an unknown record is reported."""


class Failure(msgspec.Struct, frozen=True):
    """A source that could not be read, and why; the next sweep tries again where it stood."""

    path: str
    reason: str
    at: int = 0
    deferred: bool = False
    """Put off on purpose: the file in which its repository may opt out could not be read."""


class StepFailure(msgspec.Struct, frozen=True):
    """What could not be done for one session or agent; the next sweep tries again."""

    step: str
    """What was being done: discover, project, digest, signals, compact, evict, prices."""
    what: str
    """The session, as flavour and native id, or whatever else it was done for."""
    reason: str
    at: int = 0


class PassLine(msgspec.Struct, frozen=True):
    """Sessions that one pass of retention took the raw text of, and why."""

    reason: Reason
    sessions: int
    bytes: int
    """Of segments, rows and index: what counted against the caps."""
    why: str


class RetentionLine(msgspec.Struct):
    """What aging did: bytes freed, where usage stands now, evictions per pass, losses."""

    freed: int = 0
    final_usage: int = 0
    age: int = 0
    soft: int = 0
    hard: int = 0
    evicted: list[PassLine] = []
    """The passes that took something."""
    data_loss: list[str] = []
    data_loss_bytes: int = 0
    alerts: list[str] = []


class SweepReport(msgspec.Struct):
    """discovered == ingested + skipped_unchanged + len(failed)."""

    dry_run: bool = False
    discovered: int = 0
    ingested: int = 0
    skipped_unchanged: int = 0
    analyzed: int = 0
    """Sessions that got a digest: `len(digested)`."""
    digested: list[int] = []
    """Those sessions, each once, even where it was digested again as more of it was read."""
    failed: list[Failure] = []
    failed_steps: list[StepFailure] = []
    records: int = 0
    events: int = 0
    sessions: int = 0
    parse_errors: int = 0
    recovered: int = 0
    incomplete_tail: int = 0
    too_long: int = 0
    superseded: int = 0
    excluded: int = 0
    forgotten: int = 0
    """Events left out because the user forgot them."""
    vanished: int = 0
    orphans_removed: int = 0
    bytes_read: int = 0
    seconds: float = 0.0
    cpu_seconds: float = 0.0
    flavors: dict[str, int] = {}
    """Files discovered per flavour."""
    looked_in: list[str] = []
    """Every place that was searched for logs, existing or not."""
    unknown: Counter[str] = msgspec.field(default_factory=lambda: Counter[str]())
    """'claude 2.1.325: attachment/foo' to number of records."""
    missing_parts: Counter[str] = msgspec.field(default_factory=lambda: Counter[str]())
    """'grok: updates.jsonl' to number of logs that were read without it."""
    ignored: Counter[str] = msgspec.field(default_factory=lambda: Counter[str]())
    redactions: Counter[str] = msgspec.field(default_factory=lambda: Counter[str]())
    retention: RetentionLine = msgspec.field(default_factory=RetentionLine)
    rescan_due: bool = False
    """Whether older sessions wait to be redacted by the rules of today."""
    warnings: list[str] = []
    damage: str | None = None
    """What is wrong with the store until `store repair` has joined what was kept of it."""

    @property
    def needs_attention(self) -> bool:
        """Whether the sweep ended with something the user must know: exit code 3."""
        return bool(self.failed or self.failed_steps or self.retention.data_loss or self.damage)

    def snapshot(self) -> dict[str, Any]:
        """The figures as they are now."""
        return {name: copy.copy(getattr(self, name)) for name in self.__struct_fields__}

    def return_to(self, earlier: dict[str, Any]) -> None:
        """Be as in an earlier snapshot: what was counted since has been taken back."""
        for name, figure in earlier.items():
            setattr(self, name, copy.copy(figure))


def clean_unknown(report: SweepReport, clean: Callable[[str], str]) -> None:
    """Take secrets out of the names of unknown records: they come from the logs.

    Cut last, as half a secret is not recognised.
    """
    unknown: Counter[str] = Counter()
    for name, count in report.unknown.items():
        unknown[clean(name)[:NAME_SHOWN]] += count
    report.unknown = unknown


class Steps(msgspec.Struct, frozen=True):
    """Runs steps of a sweep that may fail for one session or agent: noted, and the rest goes on."""

    store: Store | None
    report: SweepReport
    clock: Clock
    clean: Callable[[str], str] = str
    """Takes secrets out of reasons: an error may quote what it choked on."""

    def attempt(self, step: str, what: str | int, action: Callable[[], T]) -> T | None:
        """Do something for a session (by our id) or something else; None where it failed.

        A store that is broken ends the sweep.
        """
        try:
            return action()
        except Exception as error:  # noqa: BLE001 - whatever it is, other sessions go on
            self.check(error)
            name = self._name(what) if isinstance(what, int) else name_to_text(what)
            failure = StepFailure(step, name, self.clean(reason_of(error)), self.clock())
            self.report.failed_steps.append(failure)
            return None

    def unread(self, path: str, error: Exception, *, deferred: bool = False) -> None:
        """Note a file that could not be read."""
        reason = self.clean(reason_of(error))
        self.report.failed.append(Failure(name_to_text(path), reason, self.clock(), deferred))

    def check(self, error: Exception) -> None:
        """Raise an error again that means the store is unusable, so that no session can go on."""
        if self.store is not None and self.store.is_unusable_after(error):
            raise error

    def _name(self, session_id: int) -> str:
        """A session as a person knows it."""
        try:
            session = self.store.session(session_id) if self.store else None
        except Exception as error:  # noqa: BLE001 - it is only a name
            self.check(error)
            session = None
        return f"{session.flavor} {session.external_id}" if session else f"session {session_id}"
