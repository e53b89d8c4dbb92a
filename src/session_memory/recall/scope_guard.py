"""mem_scope_guard: what must not be dropped, what conflicts, and how broad the scope is."""

from __future__ import annotations

from typing import Any, Literal

import msgspec
from msgspec import UNSET, UnsetType

from session_memory.core.text.masks import excerpt
from session_memory.core.work_state import OperationalState, judge_closure
from session_memory.recall.breadth import (
    Breadth,
    Narrowing,
    ScopeWarning,
    SourceSession,
    lane_code,
    measure_breadth,
    narrowing,
    scope_warning,
)
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
from session_memory.recall.material import Material, freshness, requested_material
from session_memory.recall.pack_text import safe_line
from session_memory.recall.requests import ScopeRequest
from session_memory.recall.scope_resolve import MAX_LANES, CandidateLane

_QUOTE_CHARS = 120
_GUARDRAIL_CHARS = 140
CLAIMED = "Completion was claimed"
Flag = Literal["closure_mismatch", "pending_work_open", "blockers_open", "dod_incomplete"]


class ScopeGuardAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """mem_scope_guard."""

    project_key: str
    objective: Item | None
    constraints: tuple[Item, ...]
    pending_items: tuple[Item, ...]
    blockers: tuple[Item, ...]
    dod_missing: tuple[Item, ...]
    guardrails: tuple[str, ...]
    must_not_drop: tuple[str, ...]
    conflict_flags: tuple[Flag, ...]
    has_open_work: bool
    completion_check: CompletionAnswer | UnsetType = UNSET
    scope_mode: Literal["session", "project"]
    session_filter_applied: bool
    source_session_count: int
    multiple_sessions_detected: bool
    multiple_lanes_detected: bool
    broad_scope_detected: bool
    do_not_fetch_project_wide_pack: bool
    live_turn_awareness: bool
    memory_freshness: str
    source_sessions: tuple[SourceSession, ...] | UnsetType = UNSET
    source_sessions_truncated: bool | UnsetType = UNSET
    candidate_lanes: tuple[CandidateLane, ...] | UnsetType = UNSET
    candidate_sub_scopes: tuple[str, ...] | UnsetType = UNSET
    active_objective_uncertain: bool | UnsetType = UNSET
    active_objective_suppressed: bool | UnsetType = UNSET
    active_objective_suppression_reason: str | UnsetType | None = UNSET
    scope_warning: ScopeWarning | UnsetType = UNSET
    recommended_narrowing: Narrowing | UnsetType = UNSET
    session_filter: SessionFilter | UnsetType = UNSET


def scope_guard(context: RecallContext, request: ScopeRequest) -> ScopeGuardAnswer:
    """mem_scope_guard."""
    material = requested_material(context, request)
    breadth, now = measure_breadth(context.store, material.scope), context.clock()
    return largest_that_fits(lambda limits: guard_answer(material, breadth, limits, now))


def guard_answer(
    material: Material, breadth: Breadth, limits: ListLimits, now: int, *, with_check: bool = True
) -> ScopeGuardAnswer:
    """The guard of a scope; of a whole project it also names lanes and sources."""
    state, scope = material.state, material.scope
    whole = scope.session is None
    fresh = freshness(material, now)
    return ScopeGuardAnswer(
        project_key=scope.project.key,
        objective=optional_item(state.objective, limits),
        constraints=to_items(state.constraints, limits.constraints, limits),
        pending_items=to_items(state.pending, limits.pending, limits),
        blockers=to_items(state.blockers, limits.blockers, limits),
        dod_missing=to_items(state.dod_open, limits.dod, limits),
        guardrails=guardrail_lines(state),
        must_not_drop=_must_not_drop(state, limits),
        conflict_flags=_conflict_flags(state),
        has_open_work=has_open_work(state),
        completion_check=completion_answer(material, limits) if with_check else UNSET,
        scope_mode="project" if whole else "session",
        session_filter_applied=not whole,
        source_session_count=breadth.session_count,
        multiple_sessions_detected=breadth.session_count > 1,
        multiple_lanes_detected=breadth.several_lanes,
        broad_scope_detected=breadth.broad,
        do_not_fetch_project_wide_pack=breadth.broad,
        live_turn_awareness=fresh.live_turn_awareness,
        memory_freshness=fresh.memory_freshness,
        session_filter=session_filter(scope) or UNSET,
        **(_project_fields(scope.project.key, breadth) if whole else {}),
    )


def guardrail_lines(state: OperationalState) -> tuple[str, ...]:
    """The guardrails as safe lines: they quote stored text."""
    return tuple(safe_line(line, _GUARDRAIL_CHARS) for line in guardrails(state))


def guardrails(state: OperationalState) -> list[str]:
    """What an agent should keep in mind in this state; an empty state yields nothing."""
    lines: list[str] = []
    if state.pending_count:
        count = _counted(state.pending_count, "item")
        lines.append(f"{count} still open: do not call the work done.")
    if state.request is not None:
        lines.append(f"Keep to what was asked last: {excerpt(state.request.text, _QUOTE_CHARS)}")
    if state.blocker_count:
        blockers = state.blockers
        newest = f": {excerpt(blockers[0].text, _QUOTE_CHARS)}" if blockers else ""
        lines.append(f"Say that the work is blocked ({state.blocker_count}){newest}")
    if not state.dod and (state.objective is not None or state.pending_count):
        lines.append("No definition of done is stated: state one or ask for it.")
    if state.claim_conflicts:
        count = _counted(len(state.claim_conflicts), "thing")
        lines.append(f"{CLAIMED} while {count} stood open: check before repeating it.")
    return lines


def _counted(count: int, noun: str) -> str:
    return f"1 {noun}" if count == 1 else f"{count} {noun}s"


def _must_not_drop(state: OperationalState, limits: ListLimits) -> tuple[str, ...]:
    """The texts a summary must keep, each once: objective, constraints and everything open."""
    observations = (
        *((state.objective,) if state.objective else ()),
        *state.constraints[: limits.constraints],
        *state.pending[: limits.pending],
        *state.blockers[: limits.blockers],
        *state.dod_open[: limits.dod],
    )
    texts = (safe_line(observation.text, limits.chars) for observation in observations)
    return tuple(dict.fromkeys(texts))


def _conflict_flags(state: OperationalState) -> tuple[Flag, ...]:
    """What speaks against calling the work done."""
    flags: tuple[tuple[Flag, bool], ...] = (
        ("closure_mismatch", judge_closure(state).mismatch),
        ("pending_work_open", state.pending_count > 0),
        ("blockers_open", state.blocker_count > 0),
        ("dod_incomplete", bool(state.dod_open)),
    )
    return tuple(flag for flag, is_set in flags if is_set)


def _project_fields(key: str, breadth: Breadth) -> dict[str, Any]:
    return {
        "source_sessions": breadth.sources,
        "source_sessions_truncated": breadth.session_count > len(breadth.sources),
        "candidate_lanes": breadth.lanes[:MAX_LANES],
        "candidate_sub_scopes": breadth.lane_names,
        "active_objective_uncertain": breadth.broad,
        "active_objective_suppressed": False,
        "active_objective_suppression_reason": None,
        "scope_warning": scope_warning(breadth, lane_code(breadth)) or UNSET,
        "recommended_narrowing": narrowing(breadth, key) or UNSET,
    }
