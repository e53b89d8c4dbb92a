"""How hits of the two full-text indexes become one order.

Measured on LoCoMo (docs/evidence.md): scores find the right turn a little better, ranks the right
session, so each counts half; the index over turns in context counts more than the one over single
events; and a hit in a session with further good hits is more likely the one that was meant.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import msgspec

IN_CONTEXT = 1.5
"""Weight of a turn found with its predecessors, compared to 1 for the event alone."""
COMPANY = 0.5
"""How much of the best score a session's good hits can add to each of them."""
COMPANIONS = 3
RANK_SCALE = 10
"""The place at which a rank counts half as much as the first."""


class Scored(msgspec.Struct, frozen=True):
    """One hit in one index: the better, the higher."""

    id: int
    session: int
    score: float


def fuse(alone: Sequence[Scored], in_context: Sequence[Scored]) -> list[tuple[int, float]]:
    """(event id, score), best first, of hits that come best first; newest first where equal."""
    sums: defaultdict[int, float] = defaultdict(float)
    session_of: dict[int, int] = {}
    for weight, hits in ((1.0, alone), (IN_CONTEXT, in_context)):
        best = max((hit.score for hit in hits), default=0.0)
        for place, hit in enumerate(hits):
            relative = hit.score / best if best > 0 else 1.0
            sums[hit.id] += weight * (relative + RANK_SCALE / (RANK_SCALE + place))
            session_of[hit.id] = hit.session
    company = _company(sums, session_of)
    ranked = [(event, score + company[session_of[event]]) for event, score in sums.items()]
    return sorted(ranked, key=lambda item: (-item[1], -item[0]))


def _company(sums: dict[int, float], session_of: dict[int, int]) -> dict[int, float]:
    by_session: defaultdict[int, list[float]] = defaultdict(list)
    for event, score in sums.items():
        by_session[session_of[event]].append(score)
    totals = {
        session: sum(sorted(scores, reverse=True)[:COMPANIONS])
        for session, scores in by_session.items()
    }
    most, best = max(totals.values(), default=0.0), max(sums.values(), default=0.0)
    return {
        session: COMPANY * best * total / most if most > 0 else 0.0
        for session, total in totals.items()
    }
