"""Where the work stands, from what was observed: newest wins, and what was finished is closed.

Everything is resolved first and cut to its limits last, so that no count depends on a limit.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from typing import Literal

import msgspec

from session_memory.core.schema import EXCLUDED_STATUSES, Observation, ObservationType
from session_memory.core.text.similarity import Phrase, PhraseIndex, phrase

_DODS: tuple[ObservationType, ...] = ("project_dod", "mission_dod", "session_dod")
_FAILS = "` fails"
STALE_AFTER = 2
"""Later sessions of the project after which what the user left open is not open any more unless
one of them repeats it: it was done, dropped or overtaken."""
STALE_AFTER_AGENT = 1
"""The same for an agent's plan, a check that failed, a branch: the next session begins there, or
the team has moved on. A memory that keeps them longer is wrong more often than right."""

ClosureReason = Literal[
    "ready_to_close", "pending_items_open", "blockers_open", "dod_incomplete", "missing_evidence"
]


class StateLimits(msgspec.Struct, frozen=True):
    """How many of each a state shows; counts include all."""

    pending: int = 12
    completed: int = 8
    decisions: int = 8
    constraints: int = 8
    blockers: int = 6
    objectives: int = 4
    actions: int = 8


_ALL = 1_000_000_000
UNLIMITED = StateLimits(_ALL, _ALL, _ALL, _ALL, _ALL, _ALL, _ALL)


class OperationalState(msgspec.Struct, frozen=True):
    """What is open, done, decided and blocked; each list newest first."""

    objective: Observation | None = None
    objective_candidates: tuple[Observation, ...] = ()
    """Stated objectives, or where none was stated the latest requests."""
    request: Observation | None = None
    pending: tuple[Observation, ...] = ()
    completed: tuple[Observation, ...] = ()
    decisions: tuple[Observation, ...] = ()
    constraints: tuple[Observation, ...] = ()
    blockers: tuple[Observation, ...] = ()
    cleared_blockers: tuple[Observation, ...] = ()
    dod: tuple[Observation, ...] = ()
    """The definitions of done that hold: the latest of each kind."""
    dod_open: tuple[Observation, ...] = ()
    claim: Observation | None = None
    claim_conflicts: tuple[Observation, ...] = ()
    """What was open before completion was claimed, and still is."""
    next_actions: tuple[str, ...] = ()
    pending_count: int = 0
    completed_count: int = 0
    decision_count: int = 0
    constraint_count: int = 0
    blocker_count: int = 0
    done: bool = False
    """Something was finished, and nothing is open."""


class _Entry(msgspec.Struct, frozen=True):
    """An observation in its place in time."""

    order: int
    what: Observation
    words: Phrase


def notes(observations: Iterable[Observation]) -> list[Observation]:
    """Those that may be shown and ranked: excluded statuses never are (OBS-02)."""
    return [
        observation for observation in observations if observation.status not in EXCLUDED_STATUSES
    ]


def still_open(observations: Iterable[Observation]) -> frozenset[str]:
    """The hashes of the items and blockers that are open, of everything a project said."""
    state = derive_state(observations, limits=UNLIMITED)
    return frozenset(item.hash for item in (*state.pending, *state.blockers))


def derive_state(
    observations: Iterable[Observation], *, limits: StateLimits | None = None
) -> OperationalState:
    """The state that follows from observations given in any order; equal times keep the given."""
    limits = limits or StateLimits()
    entries = _in_time(observations)
    done = _Completions(entries.get("completed_item", []), _session_starts(entries))
    pending, _ = _sorted_out(entries.get("pending_item", []), done)
    blockers, cleared = _sorted_out(entries.get("blocker", []), done)
    dod = [entries[kind][-1] for kind in _DODS if kind in entries]
    dod_open = [entry for entry in dod if not done.closes(entry)]
    claim = entries["completion_claim"][-1] if "completion_claim" in entries else None
    requests = _distinct(entries.get("user_request", []))
    objectives = _standing(_distinct(entries.get("objective", [])), requests)
    decisions = _distinct(entries.get("decision", []))
    constraints = _distinct(entries.get("constraint", []))
    completed = _distinct(done.entries)
    still_open = [*blockers, *pending, *dod_open]
    return OperationalState(
        objective=objectives[0].what if objectives else None,
        objective_candidates=_cut(objectives or requests, limits.objectives),
        request=requests[0].what if requests else None,
        pending=_cut(pending, limits.pending),
        completed=_cut(completed, limits.completed),
        decisions=_cut(decisions, limits.decisions),
        constraints=_cut(constraints, limits.constraints),
        blockers=_cut(blockers, limits.blockers),
        cleared_blockers=_cut(cleared, limits.blockers),
        dod=tuple(entry.what for entry in dod),
        dod_open=tuple(entry.what for entry in dod_open),
        claim=claim.what if claim else None,
        claim_conflicts=_conflicts(claim, still_open),
        next_actions=_actions(blockers, pending)[: limits.actions],
        pending_count=len(pending),
        completed_count=len(completed),
        decision_count=len(decisions),
        constraint_count=len(constraints),
        blocker_count=len(blockers),
        done=not still_open and bool(completed or claim),
    )


def _in_time(observations: Iterable[Observation]) -> dict[ObservationType, list[_Entry]]:
    """By type, oldest first; what has no time is taken as older than all that has."""
    ordered = sorted(
        notes(observations),
        key=lambda observation: -1 if observation.at is None else observation.at,
    )
    by_type: dict[ObservationType, list[_Entry]] = {}
    for order, observation in enumerate(ordered):
        by_type.setdefault(observation.type, []).append(
            _Entry(order, observation, phrase(observation.text))
        )
    return by_type


def _session_starts(entries: dict[ObservationType, list[_Entry]]) -> dict[int, int]:
    """Where in time each session was first heard of."""
    starts: dict[int, int] = {}
    for entry in (entry for kind in entries.values() for entry in kind):
        session = entry.what.session
        starts[session] = min(entry.order, starts.get(session, entry.order))
    return starts


class _Completions:
    """What was finished, and when: a completion closes only what was said before it."""

    def __init__(self, entries: list[_Entry], session_starts: dict[int, int]) -> None:
        self.entries = entries
        self._index = PhraseIndex(entry.words for entry in entries)
        self._starts = sorted(session_starts.values())

    def closes(self, item: _Entry) -> bool:
        if item.what.status == "done" or self._is_stale(item):
            return True
        return any(self.entries[n].order > item.order for n in self._index.alike(item.words))

    def _is_stale(self, item: _Entry) -> bool:
        if item.what.source == "manual_note":
            return False  # a person wrote it down to keep it
        later = len(self._starts) - bisect_right(self._starts, item.order)
        said_by_user = item.what.origin == "user" and not _failing_command(item.what.text)
        return later >= (STALE_AFTER if said_by_user else STALE_AFTER_AGENT)


def _distinct(entries: Sequence[_Entry]) -> list[_Entry]:
    """Newest first; of one wording, and of one failing command, only the last time."""
    latest: dict[str, _Entry] = {}
    for entry in entries:
        key = _failing_command(entry.what.text) or entry.words.words
        latest.pop(key, None)
        latest[key] = entry
    return list(latest.values())[::-1]


def _standing(objectives: list[_Entry], requests: Sequence[_Entry]) -> list[_Entry]:
    """Objectives, without those of sessions after which another was asked for something else."""
    latest = requests[0] if requests else None
    return [
        entry
        for entry in objectives
        if latest is None or latest.what.session == entry.what.session or latest.order < entry.order
    ]


def _sorted_out(entries: Sequence[_Entry], done: _Completions) -> tuple[list[_Entry], list[_Entry]]:
    """What is still open, and what was closed since it was last said."""
    opened: list[_Entry] = []
    closed: list[_Entry] = []
    for entry in _distinct(entries):
        (closed if done.closes(entry) else opened).append(entry)
    return opened, closed


def _failing_command(text: str) -> str:
    end = text.find(_FAILS)
    return text[: end + 1] if text.startswith("`") and end > 0 else ""


def _conflicts(claim: _Entry | None, still_open: Sequence[_Entry]) -> tuple[Observation, ...]:
    if claim is None:
        return ()
    return tuple(entry.what for entry in still_open if entry.order < claim.order)


def _actions(blockers: Sequence[_Entry], pending: Sequence[_Entry]) -> tuple[str, ...]:
    """Blockers first, then open work in the order in which it was planned."""
    cleared_first = [f"Unblock: {entry.what.text}" for entry in blockers]
    return (*cleared_first, *(entry.what.text for entry in reversed(pending)))


def _cut(entries: Sequence[_Entry], limit: int) -> tuple[Observation, ...]:
    return tuple(entry.what for entry in entries[:limit])


class ClosureVerdict(msgspec.Struct, frozen=True):
    """Whether work is done: nothing open, nothing blocked, and evidence of the work (OPS-04)."""

    done: bool
    reasons: tuple[ClosureReason, ...]
    mismatch: bool
    """Completion was claimed, but the work is not done (OPS-05)."""

    @property
    def primary(self) -> ClosureReason:
        """The most important reason."""
        return self.reasons[0] if self.reasons else "ready_to_close"


def judge_closure(state: OperationalState) -> ClosureVerdict:
    """Judge by counts, which no limit affects; a claim of completion is no evidence."""
    conditions: tuple[tuple[bool, ClosureReason], ...] = (
        (state.pending_count > 0, "pending_items_open"),
        (state.blocker_count > 0, "blockers_open"),
        (bool(state.dod_open), "dod_incomplete"),
        (state.completed_count == 0, "missing_evidence"),
    )
    reasons: tuple[ClosureReason, ...] = tuple(reason for holds, reason in conditions if holds)
    return ClosureVerdict(not reasons, reasons, bool(reasons) and state.claim is not None)
