"""One detection: mine what is new, fold all signals, rank, and keep the candidates."""

from __future__ import annotations

import msgspec

from session_memory.core.loop.patterns import Candidate, Cure
from session_memory.core.text.masks import error_line, mask
from session_memory.detect.cluster import cluster
from session_memory.detect.loci import error_locus
from session_memory.detect.mine import mine
from session_memory.detect.rank import cures_by_problem, rank
from session_memory.detect.templates import SIMILAR, similarity, tokens
from session_memory.store.loop import Patterns

_FIXABLE = ("recurring_error", "missing_tool", "wrong_directory", "failing_command")


class DetectQuery(msgspec.Struct, frozen=True):
    """Which candidates to report."""

    min_frequency: int | None = None
    """Occurrences needed, in one session or many. None: two sessions must show it."""
    since: int | None = None
    repo: str | None = None


class Fix(msgspec.Struct, frozen=True):
    """What helped against an error before."""

    problem: str
    """The locus the error was recognised as."""
    cures: tuple[Cure, ...]
    frequency: int = 0
    sessions: int = 0


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


def fix(patterns: Patterns, text: str) -> Fix | None:
    """What worked after this error or the one most like it; None if none is like it."""
    mine(patterns)
    line = error_line(text) or text
    _, locus = error_locus(line, mask(line))
    candidates = cluster(patterns.evidence, patterns.statuses(), single_sessions=True)
    problems = {
        candidate.locus: candidate for candidate in candidates if candidate.type in _FIXABLE
    }
    cures = cures_by_problem(candidates)
    name = _nearest(locus, set(problems) | set(cures))
    if name is None:
        return None
    problem = problems.get(name)
    return Fix(
        name,
        tuple(cures.get(name, ())),
        problem.frequency if problem else 0,
        problem.sessions if problem else 0,
    )


def _nearest(locus: str, known: set[str]) -> str | None:
    """The same problem if it is known, else the most similar one."""
    if locus in known:
        return locus
    words = tokens(locus)
    likeness, nearest = max(
        ((similarity(tokens(other), words), other) for other in sorted(known)), default=(0.0, "")
    )
    return nearest if likeness > SIMILAR else None
