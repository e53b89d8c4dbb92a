"""Measuring effects, with the catalog, the history of giving, the trials and detected patterns.

Detection, curation and measurement do not import each other; they are joined here.
"""

from __future__ import annotations

from pathlib import Path

from session_memory.core.loop.effects import Effect
from session_memory.curate.catalog import read_catalog
from session_memory.detect.cluster import cluster
from session_memory.detect.mine import mine
from session_memory.measure.run import MeasureInput, measure, read_units, records_of
from session_memory.settings import Measure
from session_memory.store.given_files import read_given
from session_memory.store.port import Store
from session_memory.store.trial_files import read_trials


def measure_all(
    store: Store, data: Path, policy: Measure, now_ms: int, *, keep: bool = True
) -> list[Effect]:
    """The effects of everything given; saved in the store unless `keep` is false."""
    patterns = store.patterns
    mine(patterns)
    clusters = cluster(patterns.evidence, patterns.statuses())
    sessions = read_units(store, patterns.evidence())
    material = MeasureInput(
        read_catalog(data).patterns,
        read_given(data),
        read_trials(data),
        {pattern.id: pattern.merged for pattern in clusters},
    )
    effects = measure(records_of(store), sessions, material, policy, now_ms)
    if keep and effects:
        store.effects.save(effects)
    return effects
