"""mem_project_brief: a project or one session of it at a glance, every part cut short."""

from __future__ import annotations

from typing import Any

import msgspec

from session_memory.clock import iso
from session_memory.core.schema import Project
from session_memory.core.text.safe_text import one_line
from session_memory.recall.breadth import Breadth
from session_memory.recall.completion_check import CompletionAnswer, check
from session_memory.recall.items import (
    STEPS,
    Item,
    ListLimits,
    SessionFilter,
    StateAnswer,
    fitted,
    items,
    session_filter,
    state_answer,
)
from session_memory.recall.material import Material
from session_memory.recall.open_work import OpenWorkAnswer, open_work
from session_memory.recall.recent_changes import ChangesAnswer, Compared, compare, recent_changes
from session_memory.recall.scope_guard import ScopeGuardAnswer, scope_guard
from session_memory.store.scopes import Closure, ContextSync, ScopeTotals

LISTED = 5
_ALIASES = 4
_FEW = 2


class ProjectAnswer(msgspec.Struct, frozen=True):
    """The project itself."""

    id: int
    project_key: str
    root_path: str | None
    remote: str | None
    domain: str | None
    aliases: tuple[str, ...]


class Counts(msgspec.Struct, frozen=True):
    """Of the scope that was asked for: of one session, or of the whole project (OPS-03)."""

    sessions: int
    turns: int
    observations: int
    active_decisions: int


class ContextMetrics(msgspec.Struct, frozen=True):
    """How often the pack was written into a file, and how much there is to pack."""

    source_char_count: int
    syncs: int
    skipped_syncs: int
    last_sync_at: str | None


class ClosureMetrics(msgspec.Struct, frozen=True):
    """How often somebody asked whether the work was done, and how often a claim was wrong."""

    checks: int
    mismatches: int
    last_check_at: str | None


class BriefAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """mem_project_brief; what this product does not have (snapshots, policies) is empty."""

    project: ProjectAnswer
    counts: Counts
    session_filter: SessionFilter | None
    recent_observations: tuple[Item, ...]
    recent_decisions: tuple[Item, ...]
    operational_state: StateAnswer
    open_work: OpenWorkAnswer
    completion_check: CompletionAnswer
    recent_changes: ChangesAnswer
    scope_guard: ScopeGuardAnswer
    context_metrics: ContextMetrics
    closure_metrics: ClosureMetrics
    health_preview: dict[str, Any] | None = None
    latest_health: dict[str, Any] | None = None
    snapshots: tuple[str, ...] = ()
    policies: tuple[str, ...] = ()
    effective_policies: tuple[str, ...] = ()
    inheritances: tuple[str, ...] = ()
    repairs: tuple[str, ...] = ()
    policy_effects: tuple[str, ...] = ()
    repair_proposals: tuple[str, ...] = ()


class Kept(msgspec.Struct, frozen=True):
    """What the store keeps beside observations."""

    syncs: tuple[ContextSync, ...]
    closures: tuple[Closure, ...]
    totals: ScopeTotals
    turns: int


def brief(material: Material, found: Breadth, kept: Kept, now: int) -> BriefAnswer:
    """Everything at once, as much of it as an answer may hold."""
    compared = compare(material, kept.syncs)
    return fitted(lambda limits: _brief(material, found, (kept, compared, now), limits))


def _brief(
    material: Material, found: Breadth, known: tuple[Kept, Compared, int], limits: ListLimits
) -> BriefAnswer:
    """What is open is told in full once, in the state; the other parts have tools of their own."""
    shortest = STEPS[-1]
    listed = min(LISTED, limits.changes)
    kept, compared, now = known
    scope, state, totals = material.scope, material.state, kept.totals
    newest = material.observations[: -LISTED - 1 : -1]
    return BriefAnswer(
        project=_project(scope.project),
        counts=Counts(
            sessions=found.session_count,
            turns=kept.turns,
            observations=totals.observations,
            active_decisions=state.decision_count,
        ),
        session_filter=session_filter(scope),
        recent_observations=items(newest, listed, limits),
        recent_decisions=items(state.decisions, listed, limits),
        operational_state=state_answer(state, limits),
        open_work=open_work(material, shortest, checked=False),
        completion_check=check(material, shortest),
        recent_changes=recent_changes(material, compared, limits),
        scope_guard=scope_guard(material, _fewer(found), shortest, now, checked=False),
        context_metrics=_context(totals.chars, kept.syncs),
        closure_metrics=_closing(kept.closures),
    )


def _fewer(found: Breadth) -> Breadth:
    """The same breadth with fewer sources and lanes named: mem_scope_guard names more."""
    return msgspec.structs.replace(found, sources=found.sources[:_FEW], lanes=found.lanes[:_FEW])


def _project(project: Project) -> ProjectAnswer:
    return ProjectAnswer(
        id=project.id,
        project_key=one_line(project.key),
        root_path=one_line(project.root) if project.root else None,
        remote=one_line(project.remote) if project.remote else None,
        domain=project.domain,
        aliases=tuple(one_line(alias) for alias in project.aliases[:_ALIASES]),
    )


def _context(chars: int, syncs: tuple[ContextSync, ...]) -> ContextMetrics:
    written = [sync.at for sync in syncs if not sync.skipped]
    return ContextMetrics(
        source_char_count=chars,
        syncs=len(written),
        skipped_syncs=len(syncs) - len(written),
        last_sync_at=iso(max(written, default=None)),
    )


def _closing(closures: tuple[Closure, ...]) -> ClosureMetrics:
    asked = [one.at for one in closures if one.kind == "check"]
    return ClosureMetrics(
        checks=len(asked),
        mismatches=len(closures) - len(asked),
        last_check_at=iso(max(asked, default=None)),
    )
