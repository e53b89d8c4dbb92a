"""The gate: how evidence is counted, its two tiers, and the only way to the status `approved`."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from heapq import nlargest
from math import fsum
from typing import Literal

from session_memory.core.loop.catalog import Evidence, GateResult, Shortfall, Snapshot, Status
from session_memory.errors import Refused
from session_memory.settings import Gate

Field = Literal["frequency", "sessions", "cost_impact"]
Tier = Literal["promote", "distribute"]
FIELDS: tuple[Field, ...] = ("frequency", "sessions", "cost_impact")
TIERS: tuple[Tier, ...] = ("promote", "distribute")
EXAMPLES = 10


def counted(evidence: Iterable[Evidence], per_session: int) -> list[Evidence]:
    """The evidence that counts: the few costliest items of each session, in a stable order."""
    by_session: dict[tuple[str, str], list[Evidence]] = defaultdict(list)
    for item in evidence:
        by_session[item.flavor, item.session].append(item)
    return [
        item
        for _, items in sorted(by_session.items())
        for item in sorted(items, key=_order)[:per_session]
    ]


def _order(item: Evidence) -> tuple[float, bool, int, str, bool, str]:
    """Costliest first; the other fields only make the order stable."""
    time = (item.at is None, item.at or 0)
    return (-item.cost, *time, item.quote, item.repo is None, item.repo or "")


def take_snapshot(evidence: Iterable[Evidence], per_session: int) -> Snapshot:
    """The evidence in numbers; frequency and cost are limited per session, the rest is not."""
    items = list(evidence)
    costs: dict[tuple[str, str], list[float]] = defaultdict(list)
    for item in items:
        costs[item.flavor, item.session].append(item.cost)
    weighed = [cost for each in costs.values() for cost in nlargest(per_session, each)]
    times = [item.at for item in items if item.at is not None]
    return Snapshot(
        frequency=len(weighed),
        sessions=len(costs),
        cost_impact=round(fsum(weighed), 6),
        flavors=tuple(sorted({item.flavor for item in items})),
        repos=tuple(sorted({item.repo for item in items if item.repo})),
        first_seen=min(times, default=None),
        last_seen=max(times, default=None),
        session_ids=tuple(f"{flavor}:{session}" for flavor, session in sorted(costs)),
    )


def examples(evidence: Iterable[Evidence]) -> tuple[Evidence, ...]:
    """A few quotes for a reader, at most one per session."""
    quoted = [item for item in evidence if item.quote]
    return tuple(counted(quoted, 1)[:EXAMPLES])


def gate(snapshot: Snapshot, floors: Gate) -> GateResult:
    """Whether the evidence reaches each floor of both tiers; a rule of one's own needs none."""
    if snapshot.written_by:
        return GateResult()
    shortfalls: list[Shortfall] = []
    for tier in TIERS:
        for field in FIELDS:
            value, floor = getattr(snapshot, field), getattr(floors, f"{tier}_min_{field}")
            if value < floor:
                shortfalls.append(Shortfall(tier, field, value, floor))
    return GateResult(tuple(shortfalls))


def admit(name: str, result: GateResult) -> Status:
    """The status that an approval leads to; only here can a pattern become approved."""
    if not result.promotes:
        missing = "; ".join(str(short) for short in result.shortfalls if short.tier == "promote")
        raise Refused(
            f"{name} has too little evidence: {missing}",
            hint="wait for more sessions, or say it in your own words with `rules add`; "
            "`session-memory help gate` says how to lower the floor",
        )
    return "approved" if result.distributes else "provisional"


def hold(status: Status, result: GateResult) -> Status:
    """The status of a pattern without a new decision: floors may have risen since the last."""
    return "provisional" if status == "approved" and not result.distributes else status
