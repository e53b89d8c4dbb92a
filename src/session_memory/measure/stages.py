"""The stage of each pattern in the loop, and the command for its next step."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Literal, get_args

import msgspec

from session_memory.core.loop.catalog import LIVE, Catalog, Pattern
from session_memory.core.loop.effects import Effect
from session_memory.core.loop.givings import Given
from session_memory.core.loop.trials import Trial, under_trial

StageName = Literal[
    "candidate",
    "provisional",
    "approved",
    "distributed",
    "under_trial",
    "measured",
    "retirement_proposed",
    "closed",
]
WAIT = "wait until more sessions show it"
STAGES: tuple[StageName, ...] = get_args(StageName)


class PatternStage(msgspec.Struct, frozen=True):
    """One pattern on its way."""

    pattern_id: str
    stage: StageName
    status: str
    text: str
    version: int
    repos: tuple[str, ...] = ()
    """Repositories whose files give it."""
    since: int | None = None
    """When the first of them, or the trial, began."""
    verdict: str | None = None
    needs: int | None = None
    next: str = ""


class LoopFacts(msgspec.Struct, frozen=True):
    """What is known of all patterns together."""

    catalog: Catalog
    given: tuple[Given, ...] = ()
    trials: tuple[Trial, ...] = ()
    effects: tuple[Effect, ...] = ()
    thin: frozenset[str] = frozenset()
    """Candidates and provisional patterns that a yes would not take any further now."""


def latest_effects(effects: Iterable[Effect]) -> dict[str, Effect]:
    """The effect to show for each pattern: newest version first, then decided, then by trial."""
    return {effect.pattern_id: effect for effect in sorted(effects, key=_weight)}


def _weight(effect: Effect) -> tuple[int, bool, bool]:
    return effect.version, effect.verdict != "insufficient_data", effect.method == "trial"


def stages(facts: LoopFacts) -> list[PatternStage]:
    """Every pattern, furthest along first, then as the last detection ranked them."""
    catalog, trials = facts.catalog, under_trial(facts.trials)
    effects = latest_effects(facts.effects)
    standing: dict[str, list[Given]] = {}
    for giving in facts.given:
        if giving.until is None:
            standing.setdefault(giving.pattern_id, []).append(giving)
    stages = [
        _stage(facts, name, standing.get(name, []), trials.get(name), effects.get(name))
        for name in {*catalog.patterns, *catalog.proposals}
    ]

    def place(item: PatternStage) -> tuple[bool, int, float, str]:
        proposal = catalog.proposals.get(item.pattern_id)
        rank = proposal.rank if proposal and proposal.rank else math.inf
        return item.stage == "closed", -STAGES.index(item.stage), rank, item.pattern_id

    return sorted(stages, key=place)


def counts(stages: Iterable[PatternStage]) -> dict[str, int]:
    """How many patterns are at each stage."""
    names = [item.stage for item in stages]
    return {name: names.count(name) for name in STAGES}


def _stage(
    facts: LoopFacts,
    name: str,
    givings: list[Given],
    trial: Trial | None,
    effect: Effect | None,
) -> PatternStage:
    catalog = facts.catalog
    entry, status = catalog.patterns.get(name) or catalog.proposals[name], catalog.status(name)
    version = entry.current.number if isinstance(entry, Pattern) else 0
    if effect is not None and effect.version != version:
        effect = None  # the effect of an older version says nothing about this one
    stage = _name(status, givings, trial, effect)
    began = [giving.since for giving in givings] + ([trial.started_at] if trial else [])
    return PatternStage(
        pattern_id=name,
        stage=stage,
        status=status,
        text=entry.text,
        version=version,
        repos=tuple(sorted({giving.repo for giving in givings})),
        since=min(began, default=None),
        verdict=effect.verdict if effect else None,
        needs=effect.needs if effect else None,
        next=WAIT if name in facts.thin else _next(stage, name, effect),
    )


def _name(
    status: str, givings: list[Given], trial: Trial | None, effect: Effect | None
) -> StageName:
    if status == "candidate" or status == "provisional":
        return status
    if status not in LIVE:
        return "closed"
    if effect is not None and effect.retires:
        return "retirement_proposed"
    if effect is not None and effect.verdict == "improved":
        return "measured"
    if trial is not None:
        return "under_trial"
    return "distributed" if givings else "approved"


_COMMANDS: Mapping[StageName, str] = {
    "candidate": "session-memory rules approve {name}",
    "provisional": "session-memory rules approve {name}",
    "approved": "session-memory rules distribute",
    "distributed": "session-memory rules measure",
    "under_trial": "session-memory rules measure",
    "measured": "",
    "retirement_proposed": "session-memory rules retire {name}",
    "closed": "",
}


def _next(stage: StageName, name: str, effect: Effect | None) -> str:
    """The command to run; for data that is too little, how many sessions to wait for."""
    if effect is not None and effect.verdict == "insufficient_data" and effect.needs:
        return f"wait for {effect.needs} more sessions, then session-memory rules measure"
    return _COMMANDS[stage].format(name=name)
