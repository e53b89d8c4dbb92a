"""One measurement of everything that was given to agents: by files, or under trial."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeVar

import msgspec

from session_memory.core.digest import DIGEST_VERSION
from session_memory.core.loop.catalog import Pattern
from session_memory.core.loop.effects import Effect
from session_memory.core.loop.givings import Given
from session_memory.core.loop.guards import SPOKE
from session_memory.core.loop.patterns import Mined
from session_memory.core.loop.trials import Trial
from session_memory.measure.effect import Subject, before_after
from session_memory.measure.metrics import (
    OTHER_VERSION,
    MeasuredSession,
    Units,
    Watch,
    find_units,
    watch,
)
from session_memory.measure.trial import Recorded, arms, trial_effect
from session_memory.settings import Measure
from session_memory.store.port import BackgroundStore, SessionQuery, SessionReader

T = TypeVar("T")
_OTHERS = (
    "{others} sessions are not compared: their digests are not of version {version};"
    " `session-memory sweep` distils those again whose raw text is stored"
)


class MeasureInput(msgspec.Struct, frozen=True):
    """What is measured, and since when."""

    patterns: Mapping[str, Pattern]
    given: tuple[Given, ...] = ()
    trials: tuple[Trial, ...] = ()
    aliases: Mapping[str, tuple[str, ...]] = {}
    """Pattern to the near duplicates that detection counts under it."""
    guarded: frozenset[str] = frozenset()
    """Patterns that are given by their guards alone: what those are against is measured."""


def read_units(store: SessionReader, mined: Iterable[Mined]) -> Units:
    """Every session worth measuring."""
    sessions, outcomes = store.sessions(SessionQuery()), store.outcomes()
    return find_units(sessions, mined, outcomes, store.digest_versions())


def measure(
    recorded: Recorded, units: Units, material: MeasureInput, policy: Measure, now_ms: int
) -> list[Effect]:
    """The effect of each pattern's latest version in files, and of its latest trial."""
    effects: list[Effect] = []
    versions = _latest(
        {giving.pattern_id: giving.version for giving in _by_time(material.given)}, material
    )
    for name, version in versions.items():
        subject = _subject(material, name, version, units.sessions)
        effect = before_after(subject, units.sessions, material.given, policy, now_ms)
        effects.append(_with_left_out(effect, units))
    trials = _latest({trial.pattern_id: trial for trial in material.trials}, material)
    for name, trial in trials.items():
        subject = _subject(material, name, trial.version, units.sessions)
        assigned = arms(trial, _reachable(units.sessions, trial), recorded)
        effect = trial_effect(subject, trial, assigned, policy, now_ms)
        effects.append(_with_left_out(effect, units))
    return sorted(effects, key=lambda effect: (effect.pattern_id, effect.method))


def records_of(store: BackgroundStore) -> Recorded:
    """What hooks recorded of each session's starts."""

    def recorded(flavor: str, session: str) -> list[tuple[int, tuple[str, ...], tuple[str, ...]]]:
        return [
            (injection.at, injection.given, injection.held)
            for injection in store.live.injections(flavor, session)
        ]

    return recorded


def names_watched(material: MeasureInput) -> frozenset[str]:
    """Every pattern that is measured, and the near duplicates counted under it."""
    measured = [entry.pattern_id for entry in (*material.given, *material.trials)]
    return frozenset(
        alias for name in measured for alias in (name, *material.aliases.get(name, ()))
    )


def _by_time(givings: Iterable[Given]) -> list[Given]:
    return sorted(givings, key=lambda giving: (giving.since, giving.version))


def _latest(by_pattern: Mapping[str, T], material: MeasureInput) -> dict[str, T]:
    """Those whose pattern still has its file, by name; the last of several was kept already."""
    return {name: item for name, item in sorted(by_pattern.items()) if name in material.patterns}


def _reachable(sessions: Iterable[MeasuredSession], trial: Trial) -> list[MeasuredSession]:
    """Sessions since the trial began: only they can have a record of it."""
    return [session for session in sessions if session.began >= trial.started_at]


def _subject(
    material: MeasureInput, name: str, version: int, sessions: Iterable[MeasuredSession]
) -> Subject:
    pattern = material.patterns[name]
    if name in material.guarded:
        return Subject(name, version, Watch(frozenset((SPOKE + name,)), "fewer", frozenset()))
    return Subject(
        name, version, watch(name, pattern.kind, material.aliases.get(name, ()), sessions)
    )


def _with_left_out(effect: Effect, units: Units) -> Effect:
    """An effect that also says which sessions of the store are not units at all."""
    caveats, others = effect.caveats, units.left_out.get(OTHER_VERSION, 0)
    if others:
        caveats = (*caveats, _OTHERS.format(others=others, version=DIGEST_VERSION))
    return msgspec.structs.replace(
        effect,
        left_out={**units.left_out, **effect.left_out},
        caveats=caveats,
        digest_version=DIGEST_VERSION,
    )
