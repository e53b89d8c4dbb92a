"""One detection: mine what is new, fold all signals, rank, and keep the candidates."""

from __future__ import annotations

import msgspec

from session_memory.core.loop.patterns import Candidate
from session_memory.detect.cluster import cluster
from session_memory.detect.mine import mine
from session_memory.detect.rank import rank
from session_memory.store.loop import Patterns


class DetectQuery(msgspec.Struct, frozen=True):
    """Which candidates to report."""

    min_frequency: int | None = None
    """Occurrences needed, in one session or many. None: two sessions must show it."""
    since: int | None = None
    repo: str | None = None


def detect(patterns: Patterns, query: DetectQuery, now_ms: int) -> list[Candidate]:
    """Ranked candidates. Filtered runs are not saved: they would shrink the counts."""
    mine(patterns)
    whole = query.since is None and query.repo is None
    floor = query.min_frequency
    candidates = cluster(
        lambda: patterns.evidence(query.since, query.repo),
        patterns.statuses(),
        single_sessions=floor is not None,
    )
    ranked = rank(candidates, now_ms)
    if whole:  # whatever floor this call names: only what recurs can pass the gate
        patterns.save_candidates([c for c in ranked if c.sessions > 1], now_ms)
    return [c for c in ranked if floor is None or c.frequency >= floor]
