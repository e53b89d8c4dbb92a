"""Which candidates matter most: across agents first, then recurrence x cost x recency."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from session_memory.core.loop.patterns import Candidate, Cure

HALF_LIFE_DAYS = 30.0
"""What was last seen so long ago counts half."""
USD_PER_MINUTE = 0.5
"""What a minute of waiting is taken to be worth, so that time and money add up."""
_LEAST_COST = 0.01  # unpriced and instant is not worthless
_DAY_MS = 86_400_000


def rank(candidates: Iterable[Candidate], now_ms: int) -> list[Candidate]:
    """Candidates with their values and cures, the most worthwhile first."""
    found = list(candidates)
    cures = _cures(found)
    valued = [
        msgspec.structs.replace(
            one, value=value(one, now_ms), cures=tuple(cures.get(one.locus, ()))
        )
        if one.kind == "problem"
        else msgspec.structs.replace(one, value=value(one, now_ms))
        for one in found
    ]
    return sorted(valued, key=lambda one: (not one.cross_flavor, -one.value, one.id))


def value(candidate: Candidate, now_ms: int) -> float:
    """Recurrence x cost x recency; recurrence is in sessions, so that one cannot lift it alone."""
    cost = (candidate.usd or 0.0) + candidate.minutes * USD_PER_MINUTE
    weight = candidate.sessions * max(_LEAST_COST, cost)
    return round(weight * _recency(candidate.last_seen, now_ms), 6)


def _recency(last_seen: int | None, now_ms: int) -> float:
    if last_seen is None:
        return 0.5
    age_days = max(0, now_ms - last_seen) / _DAY_MS
    return 0.5 ** (age_days / HALF_LIFE_DAYS)


def _cures(candidates: list[Candidate]) -> dict[str, list[Cure]]:
    """By the locus of the problem: what worked after it, the surest first."""
    cures: dict[str, list[Cure]] = {}
    for one in candidates:
        if one.type == "cure":
            cures.setdefault(one.about, []).append(cure_of(one))
    for known in cures.values():
        known.sort(key=surest)
    return cures


def cure_of(candidate: Candidate) -> Cure:
    """A candidate of that type, as the problem it cures shows it."""
    return Cure(
        candidate.id,
        candidate.locus,
        candidate.sessions,
        candidate.tried,
        tuple(candidate.flavors),
    )


def surest(cure: Cure) -> tuple[float, int, str]:
    """Order of cures: the share that worked, held back where it was tried seldom."""
    return -(cure.worked + 1) / (cure.tried + 2), -cure.worked, cure.command
