"""How long agents take to go on after a compaction: calls and tokens before the next edit.

Compared by what the session was told: given what its log shows, held back by a trial, or neither.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from statistics import median
from typing import Literal, get_args

import msgspec

from session_memory.core.commands import changes_files
from session_memory.core.schema import SessionEvent
from session_memory.measure.stats import mann_whitney
from session_memory.store.port import MemoryStore, SessionQuery
from session_memory.store.values import Injection, ResponseCost

SECTION = "recovery"
"""The section's id in the records of hooks, and the name of its trial."""
Arm = Literal["given", "held", "neither"]
_CLOCKS_MS = 60_000
"""A hook may fire this long before the log has the compaction."""


class Restart(msgspec.Struct, frozen=True):
    """From one compaction to the next edit."""

    at: int
    calls: int
    tokens: int
    arm: Arm = "neither"


class Restarts(msgspec.Struct, frozen=True):
    """One group in figures; medians are None where it is empty."""

    arm: Arm
    count: int
    calls: float | None
    tokens: float | None


class RestartReport(msgspec.Struct, frozen=True):
    """Every group, and how likely the calls of both arms differ by chance alone."""

    groups: tuple[Restarts, ...]
    chance: float | None = None
    """Of `given` compared with `held`; None if one of them is empty."""


def restarts(
    events: Iterable[SessionEvent],
    costs: Sequence[ResponseCost],
    injections: Sequence[Injection] = (),
) -> list[Restart]:
    """Each compaction of a session that an edit followed, before the next one."""
    measured: list[Restart] = []
    for at, edited, calls in _edits_after(events):
        tokens = sum(cost.tokens for cost in costs if at < cost.at <= edited)
        measured.append(Restart(at, calls, tokens, _arm(at, edited, injections)))
    return measured


def _edits_after(events: Iterable[SessionEvent]) -> Iterator[tuple[int, int, int]]:
    """(time of the compaction, time of the edit, calls between)."""
    at, calls = -1, 0
    for event in events:
        if event.inherited:
            continue
        if event.kind == "compaction":
            at, calls = event.at or -1, 0
        elif event.kind == "tool_call" and at >= 0:
            edits = event.tool_class == "edit"
            if edits or (event.command and changes_files(event.command)):
                yield at, event.at or at, calls
                at = -1
            calls += 1


def _arm(at: int, edited: int, injections: Iterable[Injection]) -> Arm:
    for injection in injections:
        if at - _CLOCKS_MS <= injection.at <= edited:
            if SECTION in injection.given:
                return "given"
            if SECTION in injection.held:
                return "held"
    return "neither"


def compared(restarts: Sequence[Restart]) -> RestartReport:
    """The groups side by side."""
    by_arm = {arm: [restart for restart in restarts if restart.arm == arm] for arm in get_args(Arm)}
    groups = tuple(
        Restarts(
            arm,
            len(group),
            median(restart.calls for restart in group) if group else None,
            median(restart.tokens for restart in group) if group else None,
        )
        for arm, group in by_arm.items()
    )
    given, held = by_arm["given"], by_arm["held"]
    chance = (
        mann_whitney(
            [float(restart.calls) for restart in given], [float(restart.calls) for restart in held]
        )
        if given and held
        else None
    )
    return RestartReport(groups, chance)


def measure_restarts(store: MemoryStore) -> RestartReport:
    """Over every session that compacted, sub-agents left out."""
    measured: list[Restart] = []
    for session in store.sessions(SessionQuery(include_subagents=False)):
        digest = store.digest(session.id)
        if digest is None or not digest.compactions:
            continue
        injections = store.live.injections(session.flavor, session.external_id)
        measured += restarts(store.events(session.id), store.response_costs(session.id), injections)
    return compared(measured)


_WORDS: dict[Arm, str] = {
    "given": "told what the log shows",
    "held": "held back by a trial",
    "neither": "neither",
}


def lines(report: RestartReport) -> list[str]:
    """The figures for people; nothing where no session compacted."""
    shown = [group for group in report.groups if group.count]
    if not shown:
        return []
    rows = ["After a compaction, before the next edit (medians):"]
    for group in shown:
        rows.append(
            f"  {_WORDS[group.arm]}: {group.calls:g} calls, {group.tokens:,.0f} tokens"
            f" ({group.count} compactions)"
        )
    if report.chance is not None:
        rows.append(f"  a difference like this in calls arises by chance: {report.chance:.0%}")
    return rows
