"""Observations as answers show them: safe, short, and each with its id."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

import msgspec

from session_memory.clock import iso
from session_memory.core.schema import Observation
from session_memory.core.work_state import OperationalState
from session_memory.recall.observations import ShownObservation
from session_memory.recall.pack_selection import Key, key_of
from session_memory.recall.pack_text import safe_line
from session_memory.recall.requests import ANSWER_BYTES
from session_memory.recall.scope import Scope


class Item(msgspec.Struct, frozen=True):
    """One observation; mem_provenance says where `observation_id` comes from."""

    text: str
    type: str
    status: str
    observation_id: str
    session_id: int
    at: str | None
    duplicate_count: int = 1
    sure: str = ""
    """What it rests on: the words of the user or of the agent, or what commands printed."""


class SessionFilter(msgspec.Struct, frozen=True):
    """The one session an answer is about."""

    session_id: int
    external_session_id: str


class ListLimits(msgspec.Struct, frozen=True):
    """How many of each an answer lists, and how long each may be; counts include the rest."""

    pending: int = 12
    blockers: int = 6
    dod: int = 6
    constraints: int = 6
    decisions: int = 5
    completed: int = 6
    changes: int = 8
    chars: int = 160


LIMITS = (
    ListLimits(),
    ListLimits(8, 4, 4, 4, 4, 4, 5, 140),
    ListLimits(5, 3, 3, 3, 3, 2, 3, 110),
    ListLimits(3, 2, 2, 2, 2, 1, 2, 90),
    ListLimits(1, 1, 1, 1, 1, 1, 1, 60),
)
"""From the fullest answer to the shortest."""
Answer = TypeVar("Answer", bound=msgspec.Struct)


def largest_that_fits(make: Callable[[ListLimits], Answer], size: int = ANSWER_BYTES) -> Answer:
    """The fullest answer that fits, or the shortest there is."""
    answer = make(LIMITS[0])
    for limits in LIMITS[1:]:
        if len(msgspec.json.encode(answer)) <= size:
            break
        answer = make(limits)
    return answer


class StateAnswer(msgspec.Struct, frozen=True):
    """Where the work stands; each list latest first."""

    objective: Item | None
    latest_user_request: Item | None
    constraints: tuple[Item, ...]
    pending_items: tuple[Item, ...]
    blockers: tuple[Item, ...]
    dod_missing: tuple[Item, ...]
    decisions: tuple[Item, ...]
    completed_items: tuple[Item, ...]
    completion_claim: Item | None
    pending_count: int
    blocker_count: int
    dod_missing_count: int
    completed_count: int
    decision_count: int
    constraint_count: int


def to_item(
    observation: Observation, limits: ListLimits, counts: Mapping[Key, int] | None = None
) -> Item:
    """An observation as an answer shows it."""
    return Item(
        text=safe_line(observation.text, limits.chars),
        type=observation.type,
        status=observation.status,
        observation_id=observation.hash,
        session_id=observation.session,
        at=iso(observation.at),
        duplicate_count=(counts or {}).get(key_of(observation), 1),
        sure=ShownObservation(observation).sure,
    )


def optional_item(
    observation: Observation | None,
    limits: ListLimits,
    counts: Mapping[Key, int] | None = None,
) -> Item | None:
    """The same for an observation that may be missing."""
    return None if observation is None else to_item(observation, limits, counts)


def to_items(
    observations: Sequence[Observation],
    count: int,
    limits: ListLimits,
    counts: Mapping[Key, int] | None = None,
) -> tuple[Item, ...]:
    """The first `count` observations as an answer shows them."""
    return tuple(to_item(observation, limits, counts) for observation in observations[:count])


def session_filter(scope: Scope) -> SessionFilter | None:
    """The session a scope is limited to, if it is."""
    if scope.session is None:
        return None
    return SessionFilter(scope.session.id, safe_line(scope.session.external_id))


def has_open_work(state: OperationalState) -> bool:
    """Whether anything is pending, blocked, or short of its definition of done."""
    return bool(state.pending_count or state.blocker_count or state.dod_open)


def state_answer(
    state: OperationalState, limits: ListLimits, counts: Mapping[Key, int] | None = None
) -> StateAnswer:
    """A state as an answer shows it."""
    return StateAnswer(
        objective=optional_item(state.objective, limits, counts),
        latest_user_request=optional_item(state.request, limits, counts),
        constraints=to_items(state.constraints, limits.constraints, limits, counts),
        pending_items=to_items(state.pending, limits.pending, limits, counts),
        blockers=to_items(state.blockers, limits.blockers, limits, counts),
        dod_missing=to_items(state.dod_open, limits.dod, limits, counts),
        decisions=to_items(state.decisions, limits.decisions, limits, counts),
        completed_items=to_items(state.completed, limits.completed, limits, counts),
        completion_claim=optional_item(state.claim, limits, counts),
        pending_count=state.pending_count,
        blocker_count=state.blocker_count,
        dod_missing_count=len(state.dod_open),
        completed_count=state.completed_count,
        decision_count=state.decision_count,
        constraint_count=state.constraint_count,
    )
