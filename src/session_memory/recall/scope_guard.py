"""mem_scope_guard: what must not be dropped, what contradicts, and how broad the scope is."""

from __future__ import annotations

from typing import Any, Literal

import msgspec
from msgspec import UNSET, UnsetType

from session_memory.core.closure import judge
from session_memory.recall.breadth import (
    Breadth,
    Narrowing,
    ScopeWarning,
    SourceSession,
    lane_code,
    narrowing,
    warning,
)
from session_memory.recall.completion_check import CompletionAnswer, check
from session_memory.recall.items import (
    Item,
    ListLimits,
    SessionFilter,
    has_open_work,
    items,
    one_item,
    session_filter,
)
from session_memory.recall.material import Material, freshness
from session_memory.recall.open_work import shown_guardrails
from session_memory.recall.pack_text import item
from session_memory.recall.scope_resolve import MAX_LANES, CandidateLane

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


def scope_guard(
    material: Material, found: Breadth, limits: ListLimits, now: int, *, checked: bool = True
) -> ScopeGuardAnswer:
    """Guard a scope: with a session it is narrow, without one its lanes are named."""
    state, scope = material.state, material.scope
    whole = scope.session is None
    fresh = freshness(material, now)
    return ScopeGuardAnswer(
        project_key=scope.project.key,
        objective=one_item(state.objective, limits) if state.objective else None,
        constraints=items(state.constraints, limits.constraints, limits),
        pending_items=items(state.pending, limits.pending, limits),
        blockers=items(state.blockers, limits.blockers, limits),
        dod_missing=items(state.dod_open, limits.dod, limits),
        guardrails=shown_guardrails(material),
        must_not_drop=must_not_drop(material, limits),
        conflict_flags=conflict_flags(material),
        has_open_work=has_open_work(state),
        completion_check=check(material, limits) if checked else UNSET,
        scope_mode="project" if whole else "session",
        session_filter_applied=not whole,
        source_session_count=found.session_count,
        multiple_sessions_detected=found.session_count > 1,
        multiple_lanes_detected=found.several_lanes,
        broad_scope_detected=found.broad,
        do_not_fetch_project_wide_pack=found.broad,
        live_turn_awareness=fresh.live_turn_awareness,
        memory_freshness=fresh.memory_freshness,
        session_filter=session_filter(scope) or UNSET,
        **(_whole(material, found) if whole else {}),
    )


def must_not_drop(material: Material, limits: ListLimits) -> tuple[str, ...]:
    """The texts a summary must keep, each once: goal, rules, open items, obstacles, DoD gaps."""
    state = material.state
    found = (
        *((state.objective,) if state.objective else ()),
        *state.constraints[: limits.constraints],
        *state.pending[: limits.pending],
        *state.blockers[: limits.blockers],
        *state.dod_open[: limits.dod],
    )
    return tuple(dict.fromkeys(item(one.text, limits.chars) for one in found))


def conflict_flags(material: Material) -> tuple[Flag, ...]:
    """What speaks against calling the work done."""
    state = material.state
    found: tuple[tuple[bool, Flag], ...] = (
        (judge(state).mismatch, "closure_mismatch"),
        (state.pending_count > 0, "pending_work_open"),
        (state.blocker_count > 0, "blockers_open"),
        (bool(state.dod_open), "dod_incomplete"),
    )
    flags: tuple[Flag, ...] = tuple(flag for holds, flag in found if holds)
    return flags


def _whole(material: Material, found: Breadth) -> dict[str, Any]:
    key = material.scope.project.key
    return {
        "source_sessions": found.sources,
        "source_sessions_truncated": found.session_count > len(found.sources),
        "candidate_lanes": found.lanes[:MAX_LANES],
        "candidate_sub_scopes": found.names,
        "active_objective_uncertain": found.broad,
        "active_objective_suppressed": False,
        "active_objective_suppression_reason": None,
        "scope_warning": warning(found, lane_code(found)) or UNSET,
        "recommended_narrowing": narrowing(found, key) or UNSET,
    }
