"""The randomised trial: half of the sessions are given a pattern, by hash, and both are compared.

The analysis is by intention to treat: a session counts for the arm it was assigned to, whatever its
agent made of the text. Which sessions took part is what hooks recorded; a session of an agent
without our hook was assigned to nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence

import msgspec

from session_memory.core.loop.effects import Effect
from session_memory.core.loop.trials import Trial, is_given, section_id, under_trial
from session_memory.errors import NotFound, Refused
from session_memory.measure.effect import Subject, compare_arms
from session_memory.measure.metrics import MeasuredSession
from session_memory.settings import Measure

Recorded = Callable[[str, str], Iterable[tuple[int, tuple[str, ...], tuple[str, ...]]]]
"""(flavour, session) to when it was given and held which sections."""


class Arms(msgspec.Struct, frozen=True):
    """The sessions of each arm, and how many are in none, by reason."""

    given: tuple[MeasuredSession, ...]
    held: tuple[MeasuredSession, ...]
    left_out: dict[str, int]


def arms(trial: Trial, sessions: Sequence[MeasuredSession], recorded: Recorded) -> Arms:
    """Sort the sessions that began during a trial into its arms.

    A record that contradicts the rule came from an older hook or another trial; such a session was
    not assigned by chance and is in no arm.
    """
    sides: dict[bool, list[MeasuredSession]] = {True: [], False: []}
    left_out: Counter[str] = Counter()
    for session in sessions:
        began = session.began
        if began < trial.started_at or began >= (trial.stopped_at or began + 1):
            continue
        took = _took(trial, recorded(session.flavor, session.name))
        if took is None:
            left_out["not in the trial: no hook told of it"] += 1
        elif took != is_given(session.name, trial.pattern_id):
            left_out["given against its arm"] += 1
        else:
            sides[took].append(session)
    return Arms(tuple(sides[True]), tuple(sides[False]), dict(sorted(left_out.items())))


def _took(
    trial: Trial, records: Iterable[tuple[int, tuple[str, ...], tuple[str, ...]]]
) -> bool | None:
    """What the first start of the session inside the trial did; None where none had the section."""
    name = section_id(trial.pattern_id)
    for at, given, held in sorted(records):
        if at >= trial.started_at and (name in given or name in held):
            return name in given
    return None


def trial_effect(
    subject: Subject, trial: Trial, assigned: Arms, policy: Measure, now_ms: int
) -> Effect:
    """What the trial has shown by now."""
    able = [tuple(filter(subject.watch.applies, side)) for side in (assigned.given, assigned.held)]
    unmet = len(assigned.given) + len(assigned.held) - len(able[0]) - len(able[1])
    left_out = {**assigned.left_out, **({"problem not met": unmet} if unmet else {})}
    effect = compare_arms(subject, able[0], able[1], policy)
    return msgspec.structs.replace(
        effect, measured_at=now_ms, since=trial.started_at, left_out=left_out
    )


def start(trials: Sequence[Trial], pattern_id: str, version: int, now_ms: int) -> tuple[Trial, ...]:
    """The list with one more trial; a pattern is under one trial at a time."""
    if pattern_id in under_trial(trials):
        raise Refused(f"{pattern_id} is under trial already", hint="stop that trial first")
    return (*trials, Trial(pattern_id, version, now_ms))


def stop(trials: Sequence[Trial], pattern_id: str, now_ms: int) -> tuple[Trial, ...]:
    """The list with the pattern's trial ended; what it showed stays measurable."""
    running = under_trial(trials).get(pattern_id)
    if running is None:
        hint = "`session-memory rules trial list` names those that run"
        raise NotFound(f"{pattern_id} is not under trial", hint=hint)
    ended = msgspec.structs.replace(running, stopped_at=now_ms)
    return tuple(ended if trial == running else trial for trial in trials)
