"""mem_completion_check: whether the work is done, by what was said of it (OPS-04, OPS-05)."""

from __future__ import annotations

import msgspec
from msgspec import UNSET, UnsetType

from session_memory.core.closure import judge
from session_memory.recall.items import (
    Item,
    ListLimits,
    SessionFilter,
    has_open_work,
    items,
    session_filter,
)
from session_memory.recall.material import Material
from session_memory.store.scopes import Closure

_CLAIMS = 3


class CompletionAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """mem_completion_check."""

    project_key: str
    done: bool
    primary_reason: str
    reasons: tuple[str, ...]
    pending_count: int
    blocker_count: int
    dod_missing_count: int
    evidence_count: int
    completion_claim_count: int
    has_open_work: bool
    closure_mismatch: bool
    pending_items: tuple[Item, ...]
    blockers: tuple[Item, ...]
    dod_missing: tuple[Item, ...]
    evidence_items: tuple[Item, ...]
    completion_claims: tuple[Item, ...]
    session_filter: SessionFilter | UnsetType = UNSET


def check(material: Material, limits: ListLimits) -> CompletionAnswer:
    """Judge the state; lists are cut, counts and the verdict are not."""
    state = material.state
    verdict = judge(state)
    claims = [one for one in material.observations if one.type == "completion_claim"]
    return CompletionAnswer(
        project_key=material.scope.project.key,
        done=verdict.done,
        primary_reason=verdict.primary,
        reasons=verdict.reasons,
        pending_count=state.pending_count,
        blocker_count=state.blocker_count,
        dod_missing_count=len(state.dod_open),
        evidence_count=state.completed_count,
        completion_claim_count=len(claims),
        has_open_work=has_open_work(state),
        closure_mismatch=verdict.mismatch,
        pending_items=items(state.pending, limits.pending, limits),
        blockers=items(state.blockers, limits.blockers, limits),
        dod_missing=items(state.dod_open, limits.dod, limits),
        evidence_items=items(state.completed, limits.completed, limits),
        completion_claims=items(claims[::-1], _CLAIMS, limits),
        session_filter=session_filter(material.scope) or UNSET,
    )


def closure_of(material: Material, now: int) -> Closure:
    """The record that somebody asked (OPS-06)."""
    verdict = judge(material.state)
    session = material.scope.session
    return Closure(now, "check", verdict.done, verdict.primary, session.id if session else None)
