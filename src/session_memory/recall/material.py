"""What the sessions of a scope said and the state of the work: read once from the store."""

from __future__ import annotations

import msgspec

from session_memory.clock import iso
from session_memory.core.schema import Observation, ObservationType
from session_memory.core.work_state import UNLIMITED, OperationalState, derive_state
from session_memory.recall.context import RecallContext
from session_memory.recall.observations import shown_observations
from session_memory.recall.pack_facts import PackFacts
from session_memory.recall.requests import ScopeRequest
from session_memory.recall.scope import Scope, open_scope
from session_memory.store.port import ObservationQuery, RecallStore
from session_memory.store.scopes import ScopeTotals

PROJECT_POOL = 480
SESSION_POOL = 160
STATEFUL: tuple[ObservationType, ...] = (
    "decision",
    "objective",
    "project_dod",
    "mission_dod",
    "session_dod",
    "pending_item",
    "completed_item",
    "blocker",
    "completion_claim",
)
_SPOKEN: tuple[ObservationType, ...] = ("user_request", "session_summary")
WINDOW_BYTES = 2_000_000
"""Observations read for one answer, about seven thousand: enough for hundreds of sessions, and few
enough to answer at once in a project of thousands."""
UNCUT = UNLIMITED
"""Answers cut their own lists; counts and order come from everything."""


class Material(msgspec.Struct, frozen=True):
    """A scope and everything an answer is made from."""

    scope: Scope
    observations: tuple[Observation, ...]
    """All observations about the state of the work and the latest others, oldest first."""
    state: OperationalState
    totals: ScopeTotals
    pool_limit: int
    older: int
    """Sessions too far back to be read; they are counted, but their words are not used."""
    facts: PackFacts = PackFacts()
    """What digests prove; only a pack reads them."""


class Freshness(msgspec.Struct, frozen=True):
    """How old the memory is. Only stored turns are known, never the one running now."""

    last_captured_turn_at: str | None
    last_operational_capture_at: str | None
    memory_age_seconds: int | None
    operational_memory_age_seconds: int | None
    memory_freshness: str
    live_turn_awareness: bool = False


def requested_material(context: RecallContext, request: ScopeRequest) -> Material:
    """Read the scope a request names."""
    store = context.store
    return read_material(store, open_scope(store, request.project_key, request.session_id))


def read_material(store: RecallStore, scope: Scope) -> Material:
    """Read what a scope said."""
    limit = PROJECT_POOL if scope.session is None else SESSION_POOL
    sessions = window(scope)
    stateful = [*store.scopes.observed(sessions, STATEFUL), *_rules(store, scope, set(sessions))]
    spoken = store.scopes.observed(sessions, _SPOKEN, limit)
    observations = tuple(sorted((*stateful, *spoken), key=_time))
    return Material(
        scope=scope,
        observations=observations,
        state=derive_state(observations, limits=UNCUT),
        totals=store.scopes.totals(sessions),
        pool_limit=limit,
        older=len(scope.lines) - len(sessions),
    )


def _rules(store: RecallStore, scope: Scope, sessions: set[int]) -> list[Observation]:
    """The rules that still hold, which depends on all sessions of the project."""
    query = ObservationQuery(
        session=scope.session.id if scope.session else None,
        project=scope.project.key,
        types=("constraint",),
    )
    observations = (each.observation for each in shown_observations(store, query))
    return [observation for observation in observations if observation.session in sessions]


def window(scope: Scope, room: int = WINDOW_BYTES) -> list[int]:
    """The latest sessions, as many as fit; the latest one in any case."""
    taken: list[int] = []
    for line in scope.lines:
        room -= line.observed_bytes
        if room < 0 and taken:
            break
        taken.append(line.id)
    return taken


def freshness(material: Material, now: int) -> Freshness:
    """When a turn was last captured, and when one of a person's sessions last was."""
    ends = [line.ended_at for line in material.scope.captured if line.ended_at is not None]
    captured = max(ends, default=None)
    worked = material.totals.last_at
    return Freshness(
        last_captured_turn_at=iso(captured),
        last_operational_capture_at=iso(worked),
        memory_age_seconds=_age(captured, now),
        operational_memory_age_seconds=_age(worked, now),
        memory_freshness="unknown" if captured is None else "persisted",
    )


def _age(at: int | None, now: int) -> int | None:
    return None if at is None else max(0, (now - at) // 1000)


def _time(observation: Observation) -> int:
    return -1 if observation.at is None else observation.at
