"""mem_completion_check: whether the work is done, judged by observations (OPS-04, OPS-05)."""

from __future__ import annotations

import msgspec
from msgspec import UNSET, UnsetType

from session_memory.core.work_state import judge_closure
from session_memory.recall.context import RecallContext
from session_memory.recall.items import (
    Item,
    ListLimits,
    SessionFilter,
    has_open_work,
    largest_that_fits,
    session_filter,
    to_items,
)
from session_memory.recall.material import Material, requested_material
from session_memory.recall.requests import ScopeRequest
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


def completion_check(context: RecallContext, request: ScopeRequest) -> CompletionAnswer:
    """mem_completion_check; records the check (OPS-06), unless read-only."""
    material = requested_material(context, request)
    if not context.read_only:
        verdict = judge_closure(material.state)
        session = material.scope.session
        session_id = session.id if session else None
        closure = Closure(context.clock(), "check", verdict.done, verdict.primary, session_id)
        context.store.closures.record(material.scope.project.id, closure)
    return largest_that_fits(lambda limits: completion_answer(material, limits))


def completion_answer(material: Material, limits: ListLimits) -> CompletionAnswer:
    """The verdict on a state; lists are cut, counts and verdict cover everything."""
    state = material.state
    verdict = judge_closure(state)
    claims = [
        observation
        for observation in material.observations
        if observation.type == "completion_claim"
    ]
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
        pending_items=to_items(state.pending, limits.pending, limits),
        blockers=to_items(state.blockers, limits.blockers, limits),
        dod_missing=to_items(state.dod_open, limits.dod, limits),
        evidence_items=to_items(state.completed, limits.completed, limits),
        completion_claims=to_items(claims[::-1], _CLAIMS, limits),
        session_filter=session_filter(material.scope) or UNSET,
    )
