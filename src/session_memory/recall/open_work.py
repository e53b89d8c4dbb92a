"""mem_open_work: open items, blockers and the definition of done."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from msgspec import UNSET, UnsetType

from session_memory.core.schema import Observation
from session_memory.recall.completion_check import CompletionAnswer, completion_answer
from session_memory.recall.context import RecallContext
from session_memory.recall.items import (
    Item,
    ListLimits,
    SessionFilter,
    has_open_work,
    largest_that_fits,
    optional_item,
    session_filter,
    to_items,
)
from session_memory.recall.material import Material, requested_material
from session_memory.recall.requests import ScopeRequest
from session_memory.recall.scope_guard import guardrail_lines


class Dod(msgspec.Struct, frozen=True):
    """The items of the definitions of done, by what they apply to."""

    project_items: tuple[Item, ...]
    mission_items: tuple[Item, ...]
    session_items: tuple[Item, ...]
    all_items: tuple[Item, ...]


class OpenWorkAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """mem_open_work."""

    project_key: str
    objective: Item | None
    constraints: tuple[Item, ...]
    pending_items: tuple[Item, ...]
    blockers: tuple[Item, ...]
    dod: Dod
    dod_missing: tuple[Item, ...]
    guardrails: tuple[str, ...]
    has_open_work: bool
    completion_check: CompletionAnswer | UnsetType = UNSET
    session_filter: SessionFilter | UnsetType = UNSET


def open_work(context: RecallContext, request: ScopeRequest) -> OpenWorkAnswer:
    """mem_open_work."""
    material = requested_material(context, request)
    return largest_that_fits(lambda limits: open_work_answer(material, limits))


def open_work_answer(
    material: Material, limits: ListLimits, *, with_check: bool = True
) -> OpenWorkAnswer:
    """What is open in a scope, with or without the completion check."""
    state = material.state
    return OpenWorkAnswer(
        project_key=material.scope.project.key,
        objective=optional_item(state.objective, limits),
        constraints=to_items(state.constraints, limits.constraints, limits),
        pending_items=to_items(state.pending, limits.pending, limits),
        blockers=to_items(state.blockers, limits.blockers, limits),
        dod=_definitions_of_done(state.dod, limits),
        dod_missing=to_items(state.dod_open, limits.dod, limits),
        guardrails=guardrail_lines(state),
        has_open_work=has_open_work(state),
        completion_check=completion_answer(material, limits) if with_check else UNSET,
        session_filter=session_filter(material.scope) or UNSET,
    )


def _definitions_of_done(observations: Sequence[Observation], limits: ListLimits) -> Dod:
    def of(kind: str) -> tuple[Item, ...]:
        matching = [observation for observation in observations if observation.type == kind]
        return to_items(matching, len(matching), limits)

    everything = to_items(observations, len(observations), limits)
    return Dod(of("project_dod"), of("mission_dod"), of("session_dod"), everything)
