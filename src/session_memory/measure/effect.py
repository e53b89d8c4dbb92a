"""Before and after, with untouched repositories as control, and the rule that gives verdicts.

Looking again and again at growing data finds an effect by chance sooner or later. So data is looked
at only when the smaller new group has reached the minimum, twice the minimum, four times it and so
on, at most six times, and each look uses just those sessions. The looks share one chance of error,
ALPHA, equally (Bonferroni). The sixth look is final.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from statistics import median

import msgspec

from session_memory.core.loop.effects import Change, Effect, Interval, Method, Verdict
from session_memory.core.loop.givings import Given
from session_memory.measure.metrics import MeasuredSession, Watch, figures, recurrence, success
from session_memory.measure.stats import (
    Share,
    bootstrap_difference,
    contrast,
    fisher,
    mann_whitney,
    power,
)
from session_memory.settings import Measure

ALPHA = 0.05
"""Chance that any look reports a difference where there is none."""
FUTILE_LEVEL = 0.8
"""Of the interval behind `no_effect`: wrong one time in ten, and a person decides anyway."""
POWER = 0.8
RESAMPLED = 500_000
"""Values drawn for one bootstrap: with thousands of sessions fewer rounds are enough."""
LOOKS = 6
LEVEL = 1 - ALPHA / LOOKS
"""Of every look's interval."""
DAY_MS = 86_400_000
UNCONTROLLED = "no untouched repositories with enough sessions: a trend would look like an effect"
SELECTED = "the rule was chosen because it was frequent before: some fall is to be expected"


class Subject(msgspec.Struct, frozen=True):
    """The version of a pattern that is measured, and what shows its effect."""

    pattern_id: str
    version: int
    watch: Watch


class Groups(msgspec.Struct, frozen=True):
    """Sessions to compare; `new` groups grow with time, `old` ones do not.

    The measured difference is the sum of the rates of `plus` groups less that of `minus` groups:
    (new - old) of those that got the pattern, less the same of those that did not. An empty
    `plus_new`, or nothing to compare it with, allows no verdict.
    """

    plus_new: tuple[MeasuredSession, ...]
    minus_new: tuple[MeasuredSession, ...] = ()
    minus_old: tuple[MeasuredSession, ...] = ()
    plus_old: tuple[MeasuredSession, ...] = ()

    @property
    def others(self) -> tuple[MeasuredSession, ...]:
        """What `plus_new` is compared with: sessions before, or of the arm held back."""
        return self.minus_old or self.minus_new

    @property
    def growing(self) -> list[tuple[MeasuredSession, ...]]:
        """The groups that get new sessions."""
        return [self.plus_new, *([self.minus_new] if self.minus_new else [])]


class Judgement(msgspec.Struct, frozen=True):
    """What a look at the data says."""

    verdict: Verdict
    look: int = 0
    difference: Interval | None = None
    minimum: float = 0.0
    needs: int | None = None


def cut_to_look(groups: Groups, minimum: int) -> tuple[int, Groups]:
    """The latest look that there is enough data for, and the sessions that belong to it."""
    smallest = min(map(len, groups.growing))
    if smallest < minimum:
        return 0, groups
    look = min(LOOKS, 1 + int(math.log2(smallest / minimum)))
    enough = minimum << (look - 1)
    until = max(group[enough - 1].began for group in groups.growing)
    return look, msgspec.structs.replace(
        groups,
        plus_new=tuple(s for s in groups.plus_new if s.began <= until),
        minus_new=tuple(s for s in groups.minus_new if s.began <= until),
    )


def judge(groups: Groups, watch: Watch, policy: Measure) -> Judgement:
    """The verdict of the latest look; with too little data it is always insufficient_data."""
    standing = [group for group in (groups.minus_old, groups.plus_old) if group]
    look, cut = cut_to_look(groups, policy.min_sessions)
    minimum = policy.min_effect * recurrence(groups.others, watch).rate
    if not look or not groups.others:
        return Judgement("insufficient_data", needs=_needs(groups, watch, policy, 0))
    if any(len(group) < policy.min_sessions for group in standing):
        return Judgement("insufficient_data", look)
    difference = _difference(cut, watch, LEVEL)
    verdict = decide(
        _benefit(difference, watch), _benefit(_difference(cut, watch, FUTILE_LEVEL), watch), minimum
    )
    undecided = verdict == "insufficient_data"
    needs = _needs(groups, watch, policy, look) if undecided else None
    return Judgement(verdict, look, difference, minimum, needs)


def decide(strict: Interval, loose: Interval, minimum: float) -> Verdict:
    """The verdict for two intervals of the benefit.

    An effect must be certain and large enough; the absence of one need only be likely.
    """
    if strict.low > 0 and strict.estimate >= minimum:
        return "improved"
    if strict.high < 0 and strict.estimate <= -minimum:
        return "regressed"
    return "no_effect" if loose.high < minimum else "insufficient_data"


def before_after(
    subject: Subject,
    sessions: Sequence[MeasuredSession],
    all_givings: Sequence[Given],
    policy: Measure,
    now_ms: int,
) -> Effect:
    """What changed where the pattern was written into files, and where it was not."""
    givings = [giving for giving in all_givings if giving.pattern_id == subject.pattern_id]
    current = [giving.since for giving in givings if giving.version == subject.version]
    since = min(current, default=now_ms)
    cells, left_out = _cells(subject, sessions, givings, policy)
    control = cells["control_before"], cells["control_after"]
    compared = bool(cells["before"] and cells["after"])  # a control alone shows no effect
    controlled = compared and all(len(group) >= policy.min_sessions for group in control)
    if not controlled:
        cells["control_before"] = cells["control_after"] = []
    plus_old, minus_new = tuple(cells["control_before"]), tuple(cells["control_after"])
    groups = Groups(tuple(cells["after"]), minus_new, tuple(cells["before"]), plus_old)
    caveats = (SELECTED,) if controlled else (UNCONTROLLED, SELECTED)
    named = {name: group for name, group in cells.items() if group or "control" not in name}
    effect = _effect(subject, "before_after", groups, named, policy)
    return msgspec.structs.replace(
        effect, measured_at=now_ms, since=since, left_out=left_out, caveats=caveats
    )


def _cells(
    subject: Subject, sessions: Sequence[MeasuredSession], givings: Sequence[Given], policy: Measure
) -> tuple[dict[str, list[MeasuredSession]], dict[str, int]]:
    """The four groups, and why sessions of these repositories are in none."""
    current = {giving.repo: giving for giving in givings if giving.version == subject.version}
    touched: dict[str, int] = {}
    for giving in givings:
        touched[giving.repo] = min(giving.since, touched.get(giving.repo, giving.since))
    first = min((giving.since for giving in current.values()), default=0)
    domains = {session.domain for session in sessions if session.repo in current}
    cells: dict[str, list[MeasuredSession]] = {
        name: [] for name in ("before", "after", "control_before", "control_after")
    }
    left_out: Counter[str] = Counter()
    for session in sessions:
        if session.repo is None or session.domain not in domains:
            continue
        if not subject.watch.applies(session):
            left_out["problem not met"] += 1
            continue
        here = current.get(session.repo)
        began_with = touched.get(session.repo, first)
        since, until = (here.since, here.until) if here else (first, None)
        if here is None and session.repo in touched:
            left_out["another version of the rule"] += 1
        elif session.ended <= began_with:
            if session.began < began_with - policy.window_days * DAY_MS:
                left_out["before the window"] += 1
            else:
                cells["before" if here else "control_before"].append(session)
        elif session.began >= since and (until is None or session.ended <= until):
            cells["after" if here else "control_after"].append(session)
        else:
            left_out["while it was given or taken out"] += 1
    return cells, dict(sorted(left_out.items()))


def _effect(
    subject: Subject,
    method: Method,
    groups: Groups,
    named: dict[str, list[MeasuredSession]],
    policy: Measure,
) -> Effect:
    judged = judge(groups, subject.watch, policy)
    others = groups.others
    with_it, without = (recurrence(group, subject.watch) for group in (groups.plus_new, others))
    return Effect(
        pattern_id=subject.pattern_id,
        version=subject.version,
        method=method,
        verdict=judged.verdict,
        measured_at=0,
        since=0,
        better=subject.watch.better,
        groups={name: figures(group, subject.watch) for name, group in named.items()},
        difference=judged.difference,
        level=LEVEL,
        p=fisher(with_it, without) if with_it.n and without.n else None,
        look=judged.look,
        minimum=judged.minimum,
        needs=judged.needs,
        changes=secondary_changes(groups.plus_new, others),
    )


def compare_arms(
    subject: Subject,
    given: Sequence[MeasuredSession],
    held: Sequence[MeasuredSession],
    policy: Measure,
) -> Effect:
    """The effect of a trial: its two arms, as they were assigned."""
    groups = Groups(plus_new=tuple(given), minus_new=tuple(held))
    named = {"given": list(given), "held": list(held)}
    return _effect(subject, "trial", groups, named, policy)


def secondary_changes(
    first: Sequence[MeasuredSession], second: Sequence[MeasuredSession]
) -> tuple[Change, ...]:
    """Dollars, minutes and outcomes of two groups: shown with a verdict, but not part of it."""
    changes: list[Change] = []
    for what in ("usd", "minutes"):
        left, right = _values(first, what), _values(second, what)
        if len(left) > 1 and len(right) > 1:
            rounds = max(200, min(1000, RESAMPLED // (len(left) + len(right))))
            interval = bootstrap_difference(left, right, median, rounds=rounds)
            sizes = len(left), len(right)
            changes.append(Change(what, interval, mann_whitney(left, right), sizes))
    left, right = success(first), success(second)
    if left.n and right.n:
        interval = contrast([left], [right])
        changes.append(Change("success", interval, fisher(left, right), (left.n, right.n)))
    return tuple(changes)


def _values(sessions: Sequence[MeasuredSession], what: str) -> list[float]:
    values = (session.usd if what == "usd" else session.minutes for session in sessions)
    return [value for value in values if value is not None]


def _shares(groups: Groups, watch: Watch) -> tuple[list[Share], list[Share]]:
    plus, minus = (
        [recurrence(group, watch) for group in side if group]
        for side in (
            (groups.plus_new, groups.plus_old),
            (groups.minus_old, groups.minus_new),
        )
    )
    return plus, minus


def _difference(groups: Groups, watch: Watch, level: float) -> Interval:
    plus, minus = _shares(groups, watch)
    return contrast(plus, minus, level)


def _benefit(difference: Interval, watch: Watch) -> Interval:
    """The difference turned so that more is better."""
    if watch.better == "more":
        return difference
    return Interval(-difference.estimate, -difference.high, -difference.low)


def _needs(groups: Groups, watch: Watch, policy: Measure, look: int) -> int | None:
    """How many more sessions the smaller growing group needs before a look could see the effect.

    Assumes that the rate before (or of the arm held back) is the true one, that the effect is the
    smallest worth having or, once there was a look and it is larger, the one seen so far, and that
    new sessions come in the same proportion. None where no look that is left would be enough.
    """
    have = min(map(len, groups.growing))
    base, now = recurrence(groups.others, watch), recurrence(groups.plus_new, watch)
    observed = _benefit(Interval(now.rate - base.rate, 0, 0), watch).estimate if look else 0.0
    size = max(policy.min_effect * base.rate, observed)
    if not base.n or not size:
        return max(0, policy.min_sessions - have) or None
    after = min(1.0, base.rate + size) if watch.better == "more" else max(0.0, base.rate - size)
    standing = [len(group) for group in (groups.minus_old, groups.plus_old) if group]
    moving = 2 if groups.minus_new else 1
    for step in range(look + 1, LOOKS + 1):
        n = policy.min_sessions << (step - 1)
        rates = [after, base.rate] if moving == 2 else [after]
        rates += [base.rate] * len(standing)
        if power(rates, [n] * moving + standing, size, LEVEL) >= POWER:
            return n - have
    return None
