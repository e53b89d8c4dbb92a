"""Measures effects, with the catalog, the history of giving, the trials and detected patterns.

Detection, curation, guards and measurement do not import each other; they are joined here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import msgspec

from session_memory.core.loop.catalog import Pattern
from session_memory.core.loop.effects import Effect
from session_memory.core.loop.guards import Guard, GuardRecord
from session_memory.core.loop.patterns import Mined
from session_memory.curate.catalog import read_catalog
from session_memory.detect.cluster import cluster
from session_memory.detect.mine import mine
from session_memory.guards.replay import guard_signal
from session_memory.guards.table import Rule, check_of
from session_memory.measure.effect import DAY_MS
from session_memory.measure.run import MeasureInput, measure, read_units, records_of
from session_memory.settings import Measure
from session_memory.store.given_files import read_given
from session_memory.store.guard_files import read_guards
from session_memory.store.port import SessionReader, Store
from session_memory.store.trial_files import read_trials


def measure_all(
    store: Store, data: Path, policy: Measure, now_ms: int, *, keep: bool = True
) -> list[Effect]:
    """The effects of everything given; saved in the store unless `keep` is false."""
    patterns = store.patterns
    mine(patterns)
    clusters = cluster(patterns.evidence, patterns.statuses())
    catalog, givings, record = read_catalog(data).patterns, read_given(data), read_guards(data)
    in_files = {giving.pattern_id for giving in givings}
    guards = {
        name: guard for name, guard in _guards(catalog, record).items() if name not in in_files
    }
    evidence = _with_guards(store, patterns.evidence(), guards, record, policy)
    material = MeasureInput(
        catalog,
        (*givings, *record.given),
        read_trials(data),
        {pattern.id: pattern.merged for pattern in clusters},
        frozenset(guards),
    )
    units = read_units(store, evidence)
    effects = measure(records_of(store), units, material, policy, now_ms)
    if keep and effects:
        store.effects.save(effects)
    return effects


def _guards(catalog: Mapping[str, Pattern], record: GuardRecord) -> dict[str, Guard]:
    """Every guard there has ever been, as its rule is checked now."""
    choices = {choice.rule: choice for choice in record.choices}
    guards: dict[str, Guard] = {}
    for name in {giving.pattern_id for giving in record.given} & catalog.keys():
        rule = Rule(name, catalog[name].current.text, frozenset())
        if check := check_of(rule, choices.get(name)):
            guards[name] = Guard(name, "hint", "", check.when, check.cures)
    return guards


def _with_guards(
    store: SessionReader,
    evidence: Iterable[Mined],
    guards: Mapping[str, Guard],
    record: GuardRecord,
    policy: Measure,
) -> Iterator[Mined]:
    """The evidence, and how often sessions of guarded projects did what a guard forbids."""
    since = {
        (giving.pattern_id, giving.repo): giving.since - policy.window_days * DAY_MS
        for giving in reversed(record.given)
    }
    roots = {project.key: project.root for project in store.projects()}
    for mined in evidence:
        active_guards = [
            guard
            for name, guard in guards.items()
            if (mined.at or 0) >= since.get((name, mined.repo or ""), 1 << 62)
        ]
        if active_guards:
            events, cwd = list(store.events(mined.session)), store.session(mined.session).cwd or ""
            root = roots.get(mined.repo or "") or cwd
            guard_signals = [guard_signal(guard, events, root, cwd) for guard in active_guards]
            signals = (*mined.signals, *(signal for signal in guard_signals if signal is not None))
            mined = msgspec.structs.replace(mined, signals=signals)
        yield mined
