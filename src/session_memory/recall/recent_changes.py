"""mem_recent_changes: what is new since a project's state was last written out (OPS-07)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal

import msgspec
from msgspec import UNSET, UnsetType

from session_memory.clock import iso
from session_memory.core.schema import Observation
from session_memory.core.text.similarity import phrase
from session_memory.core.work_state import OperationalState, derive_state
from session_memory.recall.items import (
    Item,
    ListLimits,
    SessionFilter,
    items,
    one_item,
    session_filter,
)
from session_memory.recall.material import STATEFUL, UNCUT, Material
from session_memory.store.scopes import ContextSync

BaselineSource = Literal[
    "sync_before_latest_meaningful_change",
    "previous_successful_context_sync",
    "last_successful_context_sync",
    "project_start",
]


class Baseline(msgspec.Struct, frozen=True):
    """Since when changes count, and why since then."""

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


def baseline(material: Material, syncs: Sequence[ContextSync]) -> Baseline:
    """The last sync that does not hold the latest change yet, else the one before, else the start.

    Whoever reads the synced file has seen what it held; the change they ask for came after it.
    """
    written = [sync.at for sync in syncs if not sync.skipped]
    changes = [one.at for one in material.observations if one.type in STATEFUL and one.at]
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


class Compared(msgspec.Struct, frozen=True):
    """Where the work stands, and where it stood at the baseline."""

    start: Baseline
    old: OperationalState


def compare(material: Material, syncs: Sequence[ContextSync]) -> Compared:
    """Find the baseline and the state of that time."""
    start = baseline(material, syncs)
    return Compared(start, _state_at(material, start))


def recent_changes(material: Material, compared: Compared, limits: ListLimits) -> ChangesAnswer:
    """What came and went between the baseline and now."""
    start, old, now = compared.start, compared.old, material.state
    new_pending, resolved = _between(old.pending, now.pending)
    new_blockers, cleared = _between(old.blockers, now.blockers)
    new_gaps, closed_gaps = _between(old.dod_open, now.dod_open)
    new_rules, gone_rules = _between(old.constraints, now.constraints)
    new_decisions, _ = _between(old.decisions, now.decisions)
    moved = _words(now.objective) != _words(old.objective)
    lists = (new_pending, resolved, new_blockers, cleared, new_gaps, closed_gaps, new_rules)
    changed = moved or any(lists) or bool(gone_rules) or bool(new_decisions)
    return ChangesAnswer(
        project_key=material.scope.project.key,
        since=iso(start.since),
        baseline_source=start.source,
        objective_changed=moved,
        latest_user_request=one_item(now.request, limits) if now.request else None,
        new_pending_items=items(new_pending, limits.changes, limits),
        resolved_pending_items=items(resolved, limits.changes, limits),
        new_blockers=items(new_blockers, limits.changes, limits),
        cleared_blockers=items(cleared, limits.changes, limits),
        new_dod_gaps=items(new_gaps, limits.changes, limits),
        cleared_dod_gaps=items(closed_gaps, limits.changes, limits),
        new_constraints=items(new_rules, limits.changes, limits),
        cleared_constraints=items(gone_rules, limits.changes, limits),
        new_decisions=items(new_decisions, limits.changes, limits),
        has_changes=changed,
        session_filter=session_filter(material.scope) or UNSET,
    )


def _state_at(material: Material, start: Baseline) -> OperationalState:
    """Where the work stood at the baseline; before a project's start nothing stood."""
    if start.since is None or start.source == "project_start":
        return OperationalState()
    since = start.since
    said = (one for one in material.observations if one.at is None or one.at <= since)
    return derive_state(said, limits=UNCUT)


def _between(
    old: Iterable[Observation], new: Iterable[Observation]
) -> tuple[list[Observation], list[Observation]]:
    """What came and what went, by wording."""
    before = {_words(one): one for one in old}
    after = {_words(one): one for one in new}
    came = [one for words, one in after.items() if words not in before]
    went = [one for words, one in before.items() if words not in after]
    return came, went


def _words(one: Observation | None) -> str:
    return "" if one is None else phrase(one.text).words or one.text
