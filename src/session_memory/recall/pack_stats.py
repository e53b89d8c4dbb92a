"""Everything about a pack but its words: sizes, sources, breadth, freshness, and what was cut."""

from __future__ import annotations

from typing import Any, Literal

import msgspec
from msgspec import UNSET, UnsetType

from session_memory.recall.breadth import (
    Breadth,
    Narrowing,
    ScopeWarning,
    SourceSession,
    narrowing,
    warning,
)
from session_memory.recall.items import has_open_work
from session_memory.recall.material import Freshness, Material
from session_memory.recall.pack_budget import Chosen
from session_memory.recall.pack_selection import (
    MAX_LISTED,
    PER_SESSION,
    PROTECTED,
    Capped,
    Selection,
)
from session_memory.recall.pack_text import Rendered
from session_memory.recall.scope_resolve import MAX_LANES, CandidateLane


class Dedupe(msgspec.Struct, frozen=True):
    """How many were said more than once."""

    dedupe_applied: bool
    duplicates_collapsed: int
    unique_count: int


class DominanceGuard(msgspec.Struct, frozen=True):
    """Which sessions were cut so that others are heard; protected items never are."""

    dominance_guard_applied: bool
    max_items_per_session: int
    protected_types: tuple[str, ...]
    protected_items_retained: int
    sessions_capped: tuple[Capped, ...]
    sessions_capped_count: int


class SelectionPool(msgspec.Struct, frozen=True):
    """How many observations there were to choose from, and how many were taken."""

    candidate_pool_limit: int
    candidate_count_after_policy: int
    final_observation_count: int


class PackStats(msgspec.Struct, frozen=True, kw_only=True):
    """Everything about a pack but its words."""

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


def tokens(chars: int) -> int:
    """A rough count of tokens: four letters each, rounded up."""
    return -(-chars // 4)


def build_stats(
    material: Material,
    found: Breadth,
    selection: Selection,
    rendered: Rendered,
    settled: tuple[Chosen, Freshness],
) -> PackStats:
    """The stats of a rendered pack; `build_ms` is for the shell to fill in."""
    chosen, fresh = settled
    return PackStats(
        budget=chosen.size,
        budget_reason=chosen.reason,
        max_chars=chosen.max_chars,
        section_counts=rendered.shown,
        left_out=rendered.left_out,
        decision_count=material.state.decision_count,
        summary_count=sum(one.what.type == "session_summary" for one in selection.kept),
        has_open_work=has_open_work(material.state),
        build_ms=0,
        **_sizes(material.totals.chars, len(rendered.text)),
        **_scoped(material, found),
        **_chosen(material, selection),
        **msgspec.structs.asdict(fresh),
    )


def _sizes(source: int, packed: int) -> dict[str, Any]:
    return {
        "source_char_count": source,
        "pack_char_count": packed,
        "approx_source_tokens": tokens(source),
        "approx_pack_tokens": tokens(packed),
        "compression_ratio": round(packed / source, 3) if source else 0.0,
    }


def _scoped(material: Material, found: Breadth) -> dict[str, Any]:
    scope = material.scope
    return {
        "scope_mode": "project" if scope.session is None else "session",
        "session_filter_applied": scope.session is not None,
        "source_session_count": found.session_count,
        "source_sessions": found.sources,
        "source_sessions_truncated": found.session_count > len(found.sources),
        "older_sessions_not_read": material.older,
        "source_sub_scope_count": sum(1 for lane in found.lanes if lane.inferred_sub_scope),
        "source_sub_scopes": found.names,
        "candidate_lanes": found.lanes[:MAX_LANES] if found.broad else (),
        "candidate_sub_scopes": found.names if found.broad else (),
        "multiple_sessions_detected": found.session_count > 1,
        "multiple_lanes_detected": found.several_lanes,
        "broad_scope_detected": found.broad,
        "do_not_fetch_project_wide_pack": found.broad,
        "scope_warning": warning(found, "multi_session_project_scope"),
        "recommended_narrowing": narrowing(found, scope.project.key) or UNSET,
        "active_objective_uncertain": found.broad,
    }


def _chosen(material: Material, selection: Selection) -> dict[str, Any]:
    collapsed = selection.candidates - selection.unique
    return {
        "dedupe": Dedupe(collapsed > 0, collapsed, selection.unique),
        "dominance_guard": DominanceGuard(
            dominance_guard_applied=bool(selection.capped),
            max_items_per_session=PER_SESSION,
            protected_types=PROTECTED,
            protected_items_retained=selection.protected,
            sessions_capped=selection.capped[:MAX_LISTED],
            sessions_capped_count=len(selection.capped),
        ),
        "selection_pool": SelectionPool(
            material.pool_limit, selection.candidates, len(selection.kept)
        ),
    }
