"""mem_recent_changes: what changed since the pack of a project was last synced (OPS-07)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal

import msgspec
from msgspec import UNSET, UnsetType

from session_memory.clock import iso
from session_memory.core.schema import Observation
from session_memory.core.text.similarity import phrase
from session_memory.core.work_state import OperationalState, derive_state
from session_memory.recall.context import RecallContext
from session_memory.recall.items import (
    Item,
    ListLimits,
    SessionFilter,
    largest_that_fits,
    optional_item,
    session_filter,
    to_items,
)
from session_memory.recall.material import STATEFUL, UNCUT, Material, requested_material
from session_memory.recall.requests import ScopeRequest
from session_memory.store.scopes import ContextSync

BaselineSource = Literal[
    "sync_before_latest_meaningful_change",
    "previous_successful_context_sync",
    "last_successful_context_sync",
    "project_start",
]


class Baseline(msgspec.Struct, frozen=True):
    """The time from which changes count, and why that time."""

    since: int | None
    source: BaselineSource


class ChangesAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """mem_recent_changes."""

    project_key: str
    since: str | None
    baseline_source: BaselineSource
    objective_changed: bool
    latest_user_request: Item | None
    new_pending_items: tuple[Item, ...]
    resolved_pending_items: tuple[Item, ...]
    new_blockers: tuple[Item, ...]
    cleared_blockers: tuple[Item, ...]
    new_dod_gaps: tuple[Item, ...]
    cleared_dod_gaps: tuple[Item, ...]
    new_constraints: tuple[Item, ...]
    cleared_constraints: tuple[Item, ...]
    new_decisions: tuple[Item, ...]
    has_changes: bool
    session_filter: SessionFilter | UnsetType = UNSET


class Comparison(msgspec.Struct, frozen=True):
    """The baseline and the state of the work at that time."""

    baseline: Baseline
    old: OperationalState


def recent_changes(context: RecallContext, request: ScopeRequest) -> ChangesAnswer:
    """mem_recent_changes."""
    material = requested_material(context, request)
    comparison = compare(material, context.store.syncs.all(material.scope.project.id))
    return largest_that_fits(lambda limits: changes_answer(material, comparison, limits))


def compare(material: Material, syncs: Sequence[ContextSync]) -> Comparison:
    """Find the baseline and the state of the work at that time."""
    baseline = _baseline(material, syncs)
    return Comparison(baseline, _state_at(material, baseline))


def changes_answer(material: Material, comparison: Comparison, limits: ListLimits) -> ChangesAnswer:
    """What was added and removed between the baseline and now."""
    baseline, old, now = comparison.baseline, comparison.old, material.state
    new_pending, resolved = _difference(old.pending, now.pending)
    new_blockers, cleared_blockers = _difference(old.blockers, now.blockers)
    new_gaps, cleared_gaps = _difference(old.dod_open, now.dod_open)
    new_constraints, cleared_constraints = _difference(old.constraints, now.constraints)
    new_decisions, _ = _difference(old.decisions, now.decisions)
    objective_changed = _wording(now.objective) != _wording(old.objective)
    return ChangesAnswer(
        project_key=material.scope.project.key,
        since=iso(baseline.since),
        baseline_source=baseline.source,
        objective_changed=objective_changed,
        latest_user_request=optional_item(now.request, limits),
        new_pending_items=to_items(new_pending, limits.changes, limits),
        resolved_pending_items=to_items(resolved, limits.changes, limits),
        new_blockers=to_items(new_blockers, limits.changes, limits),
        cleared_blockers=to_items(cleared_blockers, limits.changes, limits),
        new_dod_gaps=to_items(new_gaps, limits.changes, limits),
        cleared_dod_gaps=to_items(cleared_gaps, limits.changes, limits),
        new_constraints=to_items(new_constraints, limits.changes, limits),
        cleared_constraints=to_items(cleared_constraints, limits.changes, limits),
        new_decisions=to_items(new_decisions, limits.changes, limits),
        has_changes=objective_changed
        or any((new_pending, resolved, new_blockers, cleared_blockers, new_gaps, cleared_gaps))
        or any((new_constraints, cleared_constraints, new_decisions)),
        session_filter=session_filter(material.scope) or UNSET,
    )


def _baseline(material: Material, syncs: Sequence[ContextSync]) -> Baseline:
    """The last sync before the latest change, else the sync before the last, else the start.

    Whoever reads the synced file has seen what it held; the change they ask about came after it.
    """
    written = [sync.at for sync in syncs if not sync.skipped]
    changes = [
        observation.at
        for observation in material.observations
        if observation.type in STATEFUL and observation.at
    ]
    latest = max(changes, default=None)
    before = [at for at in written if latest is not None and at < latest]
    if before:
        return Baseline(max(before), "sync_before_latest_meaningful_change")
    if len(written) > 1:
        return Baseline(sorted(written)[-2], "previous_successful_context_sync")
    if written:
        return Baseline(written[0], "last_successful_context_sync")
    starts = [line.started_at for line in material.scope.lines if line.started_at is not None]
    return Baseline(min(starts, default=None), "project_start")


def _state_at(material: Material, baseline: Baseline) -> OperationalState:
    """The state of the work at the baseline; empty at the start of a project."""
    if baseline.since is None or baseline.source == "project_start":
        return OperationalState()
    since = baseline.since
    earlier = (
        observation
        for observation in material.observations
        if observation.at is None or observation.at <= since
    )
    return derive_state(earlier, limits=UNCUT)


def _difference(
    old: Iterable[Observation], new: Iterable[Observation]
) -> tuple[list[Observation], list[Observation]]:
    """What was added and what was removed, by wording."""
    before = {_wording(observation): observation for observation in old}
    after = {_wording(observation): observation for observation in new}
    added = [observation for wording, observation in after.items() if wording not in before]
    removed = [observation for wording, observation in before.items() if wording not in after]
    return added, removed


def _wording(observation: Observation | None) -> str:
    return "" if observation is None else phrase(observation.text).words or observation.text
