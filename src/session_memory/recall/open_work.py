"""mem_open_work: what is still to do, what is in the way, and what done would mean."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from msgspec import UNSET, UnsetType

from session_memory.core.schema import Observation
from session_memory.recall.completion_check import CompletionAnswer, check
from session_memory.recall.guardrails import guardrails
from session_memory.recall.items import (
    Item,
    ListLimits,
    SessionFilter,
    has_open_work,
    items,
    one_item,
    session_filter,
)
from session_memory.recall.material import Material
from session_memory.recall.pack_text import item


class Dod(msgspec.Struct, frozen=True):
    """The definitions of done that hold, by whose they are."""

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


def open_work(material: Material, limits: ListLimits, *, checked: bool = True) -> OpenWorkAnswer:
    """What is open in a scope; `checked` adds the completion check, where it is not beside it."""
    state = material.state
    return OpenWorkAnswer(
        project_key=material.scope.project.key,
        objective=one_item(state.objective, limits) if state.objective else None,
        constraints=items(state.constraints, limits.constraints, limits),
        pending_items=items(state.pending, limits.pending, limits),
        blockers=items(state.blockers, limits.blockers, limits),
        dod=_dod(state.dod, limits),
        dod_missing=items(state.dod_open, limits.dod, limits),
        guardrails=shown_guardrails(material),
        has_open_work=has_open_work(state),
        completion_check=check(material, limits) if checked else UNSET,
        session_filter=session_filter(material.scope) or UNSET,
    )


def shown_guardrails(material: Material) -> tuple[str, ...]:
    """What to mind; the lines quote stored text."""
    return tuple(item(line, 140) for line in guardrails(material.state))


def _dod(found: Sequence[Observation], limits: ListLimits) -> Dod:
    def of(kind: str) -> tuple[Item, ...]:
        return items([one for one in found if one.type == kind], len(found), limits)

    return Dod(
        of("project_dod"), of("mission_dod"), of("session_dod"), items(found, len(found), limits)
    )
