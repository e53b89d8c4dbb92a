"""The stats of a pack: sizes, sources, breadth, freshness, and what was cut."""

from __future__ import annotations

from typing import Literal

import msgspec
from msgspec import UNSET, UnsetType

from session_memory.recall.breadth import (
    Breadth,
    Narrowing,
    ScopeWarning,
    SourceSession,
    narrowing,
    scope_warning,
)
from session_memory.recall.items import has_open_work
from session_memory.recall.material import Freshness, Material
from session_memory.recall.pack_budget import PackBudget
from session_memory.recall.pack_selection import (
    MAX_LISTED,
    PER_SESSION,
    PROTECTED,
    CappedSession,
    Selection,
)
from session_memory.recall.pack_text import Rendered
from session_memory.recall.scope_resolve import MAX_LANES, CandidateLane


class Dedupe(msgspec.Struct, frozen=True):
    """How many observations repeat others."""

    dedupe_applied: bool
    duplicates_collapsed: int
    unique_count: int


class DominanceGuard(msgspec.Struct, frozen=True):
    """Which sessions were capped in favour of others; protected items never are."""

    dominance_guard_applied: bool
    max_items_per_session: int
    protected_types: tuple[str, ...]
    protected_items_retained: int
    sessions_capped: tuple[CappedSession, ...]
    sessions_capped_count: int


class SelectionPool(msgspec.Struct, frozen=True):
    """How many observations there were to choose from, and how many were selected."""

    candidate_pool_limit: int
    candidate_count_after_policy: int
    final_observation_count: int


class PackStats(msgspec.Struct, frozen=True, kw_only=True):
    """Stats of a pack; this product never suppresses an objective."""

    source_char_count: int
    pack_char_count: int
    approx_source_tokens: int
    approx_pack_tokens: int
    compression_ratio: float
    decision_count: int
    summary_count: int
    budget: str
    budget_reason: str
    max_chars: int
    section_counts: dict[str, int]
    left_out: dict[str, int]
    has_open_work: bool
    scope_mode: Literal["session", "project"]
    session_filter_applied: bool
    source_session_count: int
    source_sessions: tuple[SourceSession, ...]
    source_sessions_truncated: bool
    older_sessions_not_read: int
    source_sub_scope_count: int
    source_sub_scopes: tuple[str, ...]
    candidate_lanes: tuple[CandidateLane, ...]
    candidate_sub_scopes: tuple[str, ...]
    multiple_sessions_detected: bool
    multiple_lanes_detected: bool
    broad_scope_detected: bool
    do_not_fetch_project_wide_pack: bool
    scope_warning: ScopeWarning | None
    recommended_narrowing: Narrowing | UnsetType = UNSET
    active_objective_uncertain: bool
    active_objective_suppressed: bool = False
    active_objective_suppression_reason: str | None = None
    last_captured_turn_at: str | None
    last_operational_capture_at: str | None
    memory_age_seconds: int | None
    operational_memory_age_seconds: int | None
    memory_freshness: str
    live_turn_awareness: bool
    dedupe: Dedupe
    dominance_guard: DominanceGuard
    selection_pool: SelectionPool
    build_ms: int


def estimated_tokens(chars: int) -> int:
    """A rough count of tokens: four characters each, rounded up."""
    return -(-chars // 4)


def build_stats(
    material: Material,
    breadth: Breadth,
    selection: Selection,
    rendered: Rendered,
    *,
    budget: PackBudget,
    fresh: Freshness,
) -> PackStats:
    """The stats of a rendered pack; `build_ms` is measured by the caller."""
    scope = material.scope
    source_chars, pack_chars = material.totals.chars, len(rendered.text)
    collapsed = selection.candidates - selection.unique
    selected = [each.observation for each in selection.selected]
    return PackStats(
        source_char_count=source_chars,
        pack_char_count=pack_chars,
        approx_source_tokens=estimated_tokens(source_chars),
        approx_pack_tokens=estimated_tokens(pack_chars),
        compression_ratio=round(pack_chars / source_chars, 3) if source_chars else 0.0,
        decision_count=material.state.decision_count,
        summary_count=sum(observation.type == "session_summary" for observation in selected),
        budget=budget.size,
        budget_reason=budget.reason,
        max_chars=budget.max_chars,
        section_counts=rendered.shown,
        left_out=rendered.left_out,
        has_open_work=has_open_work(material.state),
        scope_mode="project" if scope.session is None else "session",
        session_filter_applied=scope.session is not None,
        source_session_count=breadth.session_count,
        source_sessions=breadth.sources,
        source_sessions_truncated=breadth.session_count > len(breadth.sources),
        older_sessions_not_read=material.older,
        source_sub_scope_count=sum(1 for lane in breadth.lanes if lane.inferred_sub_scope),
        source_sub_scopes=breadth.lane_names,
        candidate_lanes=breadth.lanes[:MAX_LANES] if breadth.broad else (),
        candidate_sub_scopes=breadth.lane_names if breadth.broad else (),
        multiple_sessions_detected=breadth.session_count > 1,
        multiple_lanes_detected=breadth.several_lanes,
        broad_scope_detected=breadth.broad,
        do_not_fetch_project_wide_pack=breadth.broad,
        scope_warning=scope_warning(breadth, "multi_session_project_scope"),
        recommended_narrowing=narrowing(breadth, scope.project.key) or UNSET,
        active_objective_uncertain=breadth.broad,
        dedupe=Dedupe(collapsed > 0, collapsed, selection.unique),
        dominance_guard=DominanceGuard(
            dominance_guard_applied=bool(selection.capped),
            max_items_per_session=PER_SESSION,
            protected_types=PROTECTED,
            protected_items_retained=selection.protected,
            sessions_capped=selection.capped[:MAX_LISTED],
            sessions_capped_count=len(selection.capped),
        ),
        selection_pool=SelectionPool(material.pool_limit, selection.candidates, len(selected)),
        build_ms=0,
        **msgspec.structs.asdict(fresh),
    )
