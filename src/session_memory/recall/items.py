"""Observations as answers show them: harmless, short, and each with its evidence."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

import msgspec

from session_memory.clock import iso
from session_memory.core.schema import Observation
from session_memory.core.work_state import OperationalState
from session_memory.recall.pack_selection import Key, key_of
from session_memory.recall.pack_text import item
from session_memory.recall.scope import Scope

ANSWER_BYTES = 11_500
"""What an answer may take as JSON: clients cut longer ones, or keep them from the model."""


class Item(msgspec.Struct, frozen=True):
    """One thing that was said; `observation_id` leads to where (mem_provenance)."""

    text: str
    type: str
    status: str
    observation_id: str
    session_id: int
    at: str | None
    duplicate_count: int = 1


class SessionFilter(msgspec.Struct, frozen=True):
    """The one session an answer is about."""

    session_id: int
    external_session_id: str


class ListLimits(msgspec.Struct, frozen=True):
    """How many of each an answer lists, and how long each may be; counts tell of all."""

    pending: int = 12
    blockers: int = 6
    dod: int = 6
    constraints: int = 6
    decisions: int = 5
    completed: int = 6
    changes: int = 8
    chars: int = 160


STEPS = (
    ListLimits(),
    ListLimits(8, 4, 4, 4, 4, 4, 5, 140),
    ListLimits(5, 3, 3, 3, 3, 2, 3, 110),
    ListLimits(3, 2, 2, 2, 2, 1, 2, 90),
    ListLimits(1, 1, 1, 1, 1, 1, 1, 60),
)
"""From the fullest answer to the shortest."""
Answer = TypeVar("Answer", bound=msgspec.Struct)


def fitted(make: Callable[[ListLimits], Answer], room: int = ANSWER_BYTES) -> Answer:
    """The fullest answer that fits, or the shortest there is."""
    answer = make(STEPS[0])
    for limits in STEPS[1:]:
        if len(msgspec.json.encode(answer)) <= room:
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


def one_item(one: Observation, limits: ListLimits, counts: Mapping[Key, int] | None = None) -> Item:
    """An observation, shown."""
    return Item(
        text=item(one.text, limits.chars),
        type=one.type,
        status=one.status,
        observation_id=one.hash,
        session_id=one.session,
        at=iso(one.at),
        duplicate_count=(counts or {}).get(key_of(one), 1),
    )


def items(
    found: Sequence[Observation],
    count: int,
    limits: ListLimits,
    counts: Mapping[Key, int] | None = None,
) -> tuple[Item, ...]:
    """The first few, shown."""
    return tuple(one_item(one, limits, counts) for one in found[:count])


def session_filter(scope: Scope) -> SessionFilter | None:
    """The session that was asked for, if one was."""
    if scope.session is None:
        return None
    return SessionFilter(scope.session.id, item(scope.session.external_id))


def has_open_work(state: OperationalState) -> bool:
    """Whether anything is pending, in the way, or short of its definition of done."""
    return bool(state.pending_count or state.blocker_count or state.dod_open)


def state_answer(
    state: OperationalState, limits: ListLimits, counts: Mapping[Key, int] | None = None
) -> StateAnswer:
    """A state, shown."""
    claim, goal, asked = state.claim, state.objective, state.request
    return StateAnswer(
        objective=one_item(goal, limits, counts) if goal else None,
        latest_user_request=one_item(asked, limits, counts) if asked else None,
        constraints=items(state.constraints, limits.constraints, limits, counts),
        pending_items=items(state.pending, limits.pending, limits, counts),
        blockers=items(state.blockers, limits.blockers, limits, counts),
        dod_missing=items(state.dod_open, limits.dod, limits, counts),
        decisions=items(state.decisions, limits.decisions, limits, counts),
        completed_items=items(state.completed, limits.completed, limits, counts),
        completion_claim=one_item(claim, limits, counts) if claim else None,
        pending_count=state.pending_count,
        blocker_count=state.blocker_count,
        dod_missing_count=len(state.dod_open),
        completed_count=state.completed_count,
        decision_count=state.decision_count,
        constraint_count=state.constraint_count,
    )
