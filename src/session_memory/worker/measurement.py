"""Measuring with everything it takes: catalog, history of giving, trials, and detection's names.

Detection, curation and measurement know nothing of each other; here, above them, they meet.
"""

from __future__ import annotations

from pathlib import Path

from session_memory.core.loop.effects import Effect
from session_memory.curate.catalog import read_catalog
from session_memory.detect.cluster import cluster
from session_memory.detect.mine import mine
from session_memory.measure.run import Material, measure, read_units
from session_memory.settings import Measure
from session_memory.store.given_files import read_given
from session_memory.store.port import Store
from session_memory.store.trial_files import read_trials


def measure_all(
    store: Store, data: Path, policy: Measure, now_ms: int, *, keep: bool = True
) -> list[Effect]:
    """The effect of all that was given; kept in the store unless asked not to."""
    patterns = store.patterns
    mine(patterns)
    found = cluster(patterns.evidence, patterns.statuses())
    sessions = read_units(store, patterns.evidence())
    material = Material(
        read_catalog(data).patterns,
        read_given(data),
        read_trials(data),
        {one.id: one.merged for one in found},
    )
    effects = measure(store, sessions, material, policy, now_ms)
    if keep and effects:
        store.effects.save(effects)
    return effects
