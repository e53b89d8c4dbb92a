"""mem_project_brief: a project or one session of it at a glance."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from session_memory.clock import iso
from session_memory.core.schema import Project
from session_memory.core.text.safe_text import one_line
from session_memory.recall.breadth import Breadth, measure_breadth
from session_memory.recall.completion_check import CompletionAnswer, completion_answer
from session_memory.recall.context import RecallContext
from session_memory.recall.items import (
    LIMITS,
    Item,
    ListLimits,
    SessionFilter,
    StateAnswer,
    largest_that_fits,
    session_filter,
    state_answer,
    to_items,
)
from session_memory.recall.material import requested_material
from session_memory.recall.open_work import OpenWorkAnswer, open_work_answer
from session_memory.recall.recent_changes import ChangesAnswer, changes_answer, compare
from session_memory.recall.requests import ScopeRequest
from session_memory.recall.scope_guard import ScopeGuardAnswer, guard_answer
from session_memory.store.scopes import Closure, ContextSync

LISTED = 5
_ALIASES = 4
_SOURCES = 2


class ProjectAnswer(msgspec.Struct, frozen=True):
    """The project itself."""

    id: int
    project_key: str
    root_path: str | None
    remote: str | None
    domain: str | None
    aliases: tuple[str, ...]


class Counts(msgspec.Struct, frozen=True):
    """Counts of the requested scope: one session or the whole project (OPS-03)."""

    sessions: int
    turns: int
    observations: int
    active_decisions: int


class ContextMetrics(msgspec.Struct, frozen=True):
    """How often the pack was written into a file, and how much text it is made from."""

    source_char_count: int
    syncs: int
    skipped_syncs: int
    last_sync_at: str | None


class ClosureMetrics(msgspec.Struct, frozen=True):
    """How often a completion check was requested, and how often a claim was wrong."""

    checks: int
    mismatches: int
    last_check_at: str | None


class BriefAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """mem_project_brief."""

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


def project_brief(context: RecallContext, request: ScopeRequest) -> BriefAnswer:
    """mem_project_brief: everything at once, as much of it as an answer may hold.

    Open work is listed in full once, in the state; the other parts have tools of their own.
    """
    store = context.store
    material = requested_material(context, request)
    scope, state = material.scope, material.state
    session_id = scope.session.id if scope.session else None
    syncs = store.syncs.all(scope.project.id)
    closures = store.closures.all(scope.project.id, session_id)
    totals, turns = store.scopes.totals(scope.ids), store.scopes.turns(scope.ids)
    breadth = measure_breadth(store, scope)
    comparison = compare(material, syncs)
    now = context.clock()
    newest = material.observations[: -LISTED - 1 : -1]
    shortest = LIMITS[-1]

    def answer(limits: ListLimits) -> BriefAnswer:
        listed = min(LISTED, limits.changes)
        return BriefAnswer(
            project=_project(scope.project),
            counts=Counts(
                sessions=breadth.session_count,
                turns=turns,
                observations=totals.observations,
                active_decisions=state.decision_count,
            ),
            session_filter=session_filter(scope),
            recent_observations=to_items(newest, listed, limits),
            recent_decisions=to_items(state.decisions, listed, limits),
            operational_state=state_answer(state, limits),
            open_work=open_work_answer(material, shortest, with_check=False),
            completion_check=completion_answer(material, shortest),
            recent_changes=changes_answer(material, comparison, limits),
            scope_guard=guard_answer(
                material, _shortened(breadth), shortest, now, with_check=False
            ),
            context_metrics=_context_metrics(totals.chars, syncs),
            closure_metrics=_closure_metrics(closures),
        )

    return largest_that_fits(answer)


def _shortened(breadth: Breadth) -> Breadth:
    """Fewer sources and lanes: mem_scope_guard names more."""
    return msgspec.structs.replace(
        breadth, sources=breadth.sources[:_SOURCES], lanes=breadth.lanes[:_SOURCES]
    )


def _project(project: Project) -> ProjectAnswer:
    return ProjectAnswer(
        id=project.id,
        project_key=one_line(project.key),
        root_path=one_line(project.root) if project.root else None,
        remote=one_line(project.remote) if project.remote else None,
        domain=project.domain,
        aliases=tuple(one_line(alias) for alias in project.aliases[:_ALIASES]),
    )


def _context_metrics(chars: int, syncs: Sequence[ContextSync]) -> ContextMetrics:
    written = [sync.at for sync in syncs if not sync.skipped]
    return ContextMetrics(
        source_char_count=chars,
        syncs=len(written),
        skipped_syncs=len(syncs) - len(written),
        last_sync_at=iso(max(written, default=None)),
    )


def _closure_metrics(closures: Sequence[Closure]) -> ClosureMetrics:
    checks = [closure.at for closure in closures if closure.kind == "check"]
    return ClosureMetrics(
        checks=len(checks),
        mismatches=len(closures) - len(checks),
        last_check_at=iso(max(checks, default=None)),
    )
