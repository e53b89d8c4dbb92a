"""Builders of proposals and decisions, and a policy that is easy to count with."""

from __future__ import annotations

from typing import Any

from session_memory.core.loop.catalog import Catalog, Evidence, Proposal
from session_memory.curate.review import Decision, DecisionRequest, review
from session_memory.settings import Curate, Gate

POLICY = Curate(
    gate=Gate(
        promote_min_frequency=2,
        promote_min_sessions=2,
        promote_min_cost_impact=0.5,
        distribute_min_frequency=4,
        distribute_min_sessions=3,
        distribute_min_cost_impact=1.0,
        evidence_per_session=2,
    )
)
AUTO = Curate(auto_promote=True, gate=POLICY.gate)
"""The same floors, and evidence alone may approve what a person took in."""
NOON = 1_800_000_000_000


def seen(sessions: int, each: int = 2, cost: float = 0.5) -> tuple[Evidence, ...]:
    """So many sessions, each of which shows the pattern so often."""
    return tuple(
        Evidence(
            session=f"s{number}",
            flavor="codex" if number % 2 else "claude",
            repo=f"repo{number % 3}",
            at=NOON + 1000 * number + time,
            quote=f"npm ERR! {number}.{time}",
            cost=cost,
        )
        for number in range(sessions)
        for time in range(each)
    )


THIN, STRONG = seen(2), seen(4)
"""Enough to be taken in; enough to be given to agents."""


def proposal(name: str = "p1", **changes: Any) -> Proposal:
    """A proposal with strong evidence, unless told otherwise."""
    given: dict[str, Any] = {
        "kind": "problem",
        "type": "failing_command",
        "locus": f"npm test {name}",
        "text": f"Run npm ci before npm test ({name}).",
        "evidence": STRONG,
    }
    return Proposal(id=name, **{**given, **changes})


def catalog_of(*proposals: Proposal) -> Catalog:
    """A catalog in which nothing is decided."""
    return Catalog({}, {item.id: item for item in proposals})


def ask(action: Any, name: str = "p1", **more: Any) -> DecisionRequest:
    """A decision of Ada's."""
    return DecisionRequest(action, name, **{"who": "ada", "at": NOON, "why": "because", **more})


def decide(
    catalog: Catalog, action: Any, name: str = "p1", policy: Curate = POLICY, **more: Any
) -> tuple[Catalog, Decision]:
    """The catalog after a decision, and the decision."""
    done = review(catalog, ask(action, name, **more), policy, str.strip)
    return catalog.with_pattern(done.pattern), done
