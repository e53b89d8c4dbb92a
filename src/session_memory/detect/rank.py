"""Ranks candidates: those of several agents first, then rules, then by cost."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from session_memory.core.loop.patterns import Candidate, Cure
from session_memory.detect.advice import advise, order
from session_memory.detect.cures import EDIT

HALF_LIFE_DAYS = 30.0
"""A candidate last seen this long ago counts half."""
USD_PER_MINUTE = 0.5
"""The assumed worth of a minute of waiting, so that time and money add up."""
_LEAST_COST = 0.01  # a candidate without price or duration is not worthless
_DAY_MS = 86_400_000


def rank(candidates: Iterable[Candidate], now_ms: int) -> list[Candidate]:
    """Candidates with their values and cures, the most worthwhile first."""
    candidates = list(candidates)
    cures = cures_by_problem(candidates)
    valued = [
        msgspec.structs.replace(
            candidate,
            value=value(candidate, now_ms),
            cures=tuple(cures.get(candidate.locus, ())) if candidate.kind == "problem" else (),
        )
        for candidate in candidates
    ]
    return sorted(advise(valued), key=order)


def value(candidate: Candidate, now_ms: int) -> float:
    """Recurrence x cost x recency; recurrence counts sessions, so that no single one decides."""
    cost = (candidate.usd or 0.0) + candidate.minutes * USD_PER_MINUTE
    weight = candidate.sessions * max(_LEAST_COST, cost)
    return round(weight * _recency(candidate.last_seen, now_ms), 6)


def _recency(last_seen: int | None, now_ms: int) -> float:
    if last_seen is None:
        return 0.5
    age_days = max(0, now_ms - last_seen) // _DAY_MS  # whole days: two calls agree on the value
    return 0.5 ** (age_days / HALF_LIFE_DAYS)


def cures_by_problem(candidates: Iterable[Candidate]) -> dict[str, list[Cure]]:
    """What worked after each problem, by the problem's locus, the surest first."""
    cures: dict[str, list[Cure]] = {}
    for candidate in candidates:
        if candidate.type == "cure":
            for problem in candidate.problems or (candidate.about,):
                cures.setdefault(problem, []).append(cure_of(candidate))
    for same_problem in cures.values():
        same_problem.sort(key=surest)
    return cures


def cure_of(candidate: Candidate) -> Cure:
    """A candidate of type cure as its problem lists it: as it was typed where it is known."""
    return Cure(
        candidate.id,
        candidate.quotes[0].text if candidate.quotes else candidate.locus,
        candidate.sessions,
        candidate.tried,
        tuple(candidate.flavors),
        "edit" if candidate.locus.startswith(EDIT) else "command",
        candidate.quotes,
    )


def surest(cure: Cure) -> tuple[float, int, str]:
    """Order of cures: the share that worked, lowered where there were few tries."""
    return -(cure.worked + 1) / (cure.tried + 2), -cure.worked, cure.command
