"""Effects: expected differences and sample sizes, careful verdicts, few false alarms."""

from __future__ import annotations

import pytest
from msgspec.structs import replace
from tests.measure.measured_sessions import (
    DAY,
    GIVEN,
    NOW,
    POLICY,
    SINCE,
    SUBJECT,
    drawn,
    row,
    session,
)

from session_memory.core.loop.effects import Effect, Interval
from session_memory.core.loop.givings import Given
from session_memory.core.loop.patterns import Signal
from session_memory.measure.effect import (
    ALPHA,
    LEVEL,
    LOOKS,
    SELECTED,
    UNCONTROLLED,
    Groups,
    before_after,
    cut_to_look,
    decide,
    judge,
)
from session_memory.measure.metrics import MeasuredSession, Watch, watch
from session_memory.measure.stats import Share, contrast, power


def measured(seen: list[MeasuredSession], **policy: float) -> Effect:
    ordered = sorted(seen, key=lambda one: one.began)
    settings = replace(POLICY, **policy)
    return before_after(SUBJECT, ordered, GIVEN, settings, NOW)


def test_a_timeline_gives_the_expected_difference_and_sample_sizes() -> None:
    timeline = row(40, 20, after=False) + row(40, 4, after=True)
    timeline += row(30, 12, after=False, repo="other") + row(30, 9, after=True, repo="other")
    effect = measured(timeline)
    counts = {name: (one.recurred, one.sessions) for name, one in effect.groups.items()}
    assert counts == {
        "before": (20, 40),
        "after": (4, 40),
        "control_before": (12, 30),
        "control_after": (9, 30),
    }
    # A look takes 20 sessions of the smaller new group, here the control, and 40 would be next.
    assert effect.look == 1
    assert effect.difference is not None
    assert effect.difference.estimate == pytest.approx((0.1 - 0.5) - (0.3 - 0.4), abs=0.06)
    assert effect.caveats == (SELECTED,)
    assert (effect.since, effect.measured_at) == (SINCE, NOW)


def test_without_untouched_repositories_the_difference_is_newcombes_and_a_caveat_says_so() -> None:
    effect = measured(row(40, 20, after=False) + row(40, 4, after=True))
    assert effect.difference == contrast([Share(4, 40)], [Share(20, 40)], LEVEL)
    assert (effect.verdict, effect.look, effect.level) == ("improved", 2, LEVEL)
    assert effect.caveats == (UNCONTROLLED, SELECTED)
    assert effect.p is not None and effect.p < 0.001


def test_what_fell_everywhere_is_not_the_patterns_doing() -> None:
    timeline = row(80, 48, after=False) + row(80, 16, after=True)
    timeline += row(80, 48, after=False, repo="other") + row(80, 16, after=True, repo="other")
    assert measured(timeline[:160]).verdict == "improved"
    assert measured(timeline).verdict != "improved"


@pytest.mark.rows("MEA-02")
@pytest.mark.parametrize("before,after", [(19, 400), (400, 19), (19, 19), (0, 400), (400, 0)])
def test_below_the_minimum_the_data_is_always_insufficient(before: int, after: int) -> None:
    for hits_before, hits_after in ((before, 0), (0, after)):
        timeline = row(before, hits_before, after=False) + row(after, hits_after, after=True)
        assert measured(timeline).verdict == "insufficient_data"
    if before and after:
        lower = row(before, before, after=False) + row(after, 0, after=True)
        assert measured(lower, min_sessions=10).verdict == "improved"


@pytest.mark.rows("MEA-02")
@pytest.mark.parametrize("empty", ["before", "after"])
@pytest.mark.parametrize("better", ["fewer", "more"])
def test_a_side_without_sessions_gets_no_verdict_whatever_the_control_shows(
    empty: str, better: str
) -> None:
    shop = row(400, 200, after=empty == "before")
    subject = replace(SUBJECT, watch=replace(SUBJECT.watch, better=better))
    for control in ((400, 0), (0, 400), (400, 400)):
        others = row(400, control[0], after=False, repo="other")
        others += row(400, control[1], after=True, repo="other")
        timeline = sorted(shop + others, key=lambda one: one.began)
        effect = before_after(subject, timeline, GIVEN, POLICY, NOW)
        assert (effect.verdict, effect.difference) == ("insufficient_data", None)
        assert effect.groups[empty].sessions == 0


@pytest.mark.rows("MEA-02")
def test_each_verdict_can_be_reached() -> None:
    same = row(160, 80, after=False) + row(160, 80, after=True)
    worse = row(80, 16, after=False) + row(80, 56, after=True)
    better = row(80, 56, after=False) + row(80, 16, after=True)
    unclear = row(20, 10, after=False) + row(20, 7, after=True)
    verdicts = [measured(one).verdict for one in (same, worse, better, unclear)]
    assert verdicts == ["no_effect", "regressed", "improved", "insufficient_data"]


def test_a_small_sure_gain_is_not_called_an_improvement() -> None:
    assert decide(Interval(0.05, 0.01, 0.09), Interval(0.05, 0.02, 0.07), 0.1) == "no_effect"
    assert decide(Interval(0.2, 0.01, 0.4), Interval(0.2, 0.1, 0.3), 0.1) == "improved"
    assert decide(Interval(-0.2, -0.4, -0.01), Interval(-0.2, -0.3, -0.1), 0.1) == "regressed"


def test_success_patterns_do_good_when_they_show_more_often() -> None:
    timeline = row(80, 16, after=False) + row(80, 56, after=True)
    subject = replace(SUBJECT, watch=Watch(frozenset({"p1"}), "more"))
    assert before_after(subject, timeline, GIVEN, POLICY, NOW).verdict == "improved"


def false_alarms(rate: float, controlled: bool) -> int:
    """Of 100 timelines without an effect, those that some look ever calls improved."""
    alarms = 0
    for seed in range(100):
        seen = drawn(seed, 160, rate, after=False) + drawn(seed, 160, rate, after=True)
        if controlled:
            seen += drawn(seed, 160, rate, after=False, repo="other")
            seen += drawn(seed, 160, rate, after=True, repo="other")
        seen.sort(key=lambda one: one.began)
        ends = [one.began for one in seen if one.repo == "shop" and one.began >= SINCE]
        alarms += any(
            quick(seen, until=ends[n - 1]) == "improved" for n in (20, 25, 30, 40, 60, 80, 120, 160)
        )
    return alarms


def quick(seen: list[MeasuredSession], until: int) -> str:
    """The verdict at a moment, without the second measures, which take no part in it."""
    by_cell = {
        (repo, after): tuple(
            one
            for one in seen
            if one.repo == repo and one.began <= until and (one.began >= SINCE) == after
        )
        for repo in ("shop", "other")
        for after in (False, True)
    }
    controlled = all(len(by_cell["other", after]) >= POLICY.min_sessions for after in (False, True))
    groups = Groups(
        plus_new=by_cell["shop", True],
        minus_new=by_cell["other", True] if controlled else (),
        minus_old=by_cell["shop", False],
        plus_old=by_cell["other", False] if controlled else (),
    )
    return judge(groups, SUBJECT.watch, POLICY).verdict


@pytest.mark.parametrize("rate,controlled", [(0.5, True), (0.15, False), (0.5, False)])
def test_without_an_effect_at_most_5_of_100_say_improved(rate: float, controlled: bool) -> None:
    assert false_alarms(rate, controlled) <= 5


def test_looks_share_one_chance_of_error_and_come_to_an_end() -> None:
    assert pytest.approx(ALPHA) == LOOKS * (1 - LEVEL)
    look, cut = cut_to_look(Groups(tuple(row(700, 0, after=True))), 10)
    assert (look, len(cut.plus_new)) == (LOOKS, 320)


def test_a_look_takes_only_the_sessions_that_belong_to_it() -> None:
    after, control = row(50, 0, after=True), row(45, 0, after=True, repo="other")
    look, cut = cut_to_look(Groups(tuple(after), tuple(control)), 20)
    assert look == 2 and min(len(cut.plus_new), len(cut.minus_new)) == 40
    assert cut_to_look(Groups(tuple(after[:19])), 20)[0] == 0
    assert cut_to_look(Groups(()), 20)[0] == 0


def test_how_many_more_sessions_a_verdict_needs() -> None:
    few = measured(row(200, 100, after=False) + row(10, 2, after=True))
    assert few.verdict == "insufficient_data" and few.needs is not None
    looks = [20 * 2**step for step in range(LOOKS)]
    enough = [n for n in looks if power([0.35, 0.5], [n, 200], 0.15, LEVEL) >= 0.8]
    assert few.needs == enough[0] - 10
    seen = measured(row(200, 100, after=False) + row(20, 5, after=True))
    assert (seen.verdict, seen.needs) == ("insufficient_data", 60)  # if it is as seen: 80
    next_look = measured(row(200, 100, after=False) + row(40, 8, after=True))
    assert next_look.verdict == "improved" and next_look.needs is None
    hopeless = measured(row(21, 4, after=False) + row(21, 3, after=True))
    assert hopeless.verdict == "insufficient_data" and hopeless.needs is None


def test_sessions_that_cannot_be_sorted_are_left_out_and_counted() -> None:
    timeline = row(30, 15, after=False) + row(30, 3, after=True)
    timeline += [
        session("across", SINCE - 1000, True),
        session("old", SINCE - 100 * DAY, True),
        session("elsewhere", SINCE, True, repo="third"),
    ]
    given = (*GIVEN, Given("p1", 9, "third", SINCE - 5 * DAY))
    effect = before_after(SUBJECT, timeline, given, POLICY, NOW)
    assert effect.left_out == {
        "another version of the rule": 1,
        "before the window": 1,
        "while it was given or taken out": 1,
    }
    assert effect.groups["before"].sessions == effect.groups["after"].sessions == 30


def test_what_was_taken_out_again_is_measured_up_to_then() -> None:
    given = (Given("p1", 1, "shop", SINCE, SINCE + 30 * DAY),)
    effect = before_after(SUBJECT, row(60, 0, after=True), given, POLICY, NOW)
    last = given[0].until or 0
    assert effect.groups["after"].sessions == sum(
        one.ended <= last for one in row(60, 0, after=True)
    )
    assert effect.left_out == {
        "while it was given or taken out": 60 - effect.groups["after"].sessions
    }


def test_cost_is_told_beside_the_verdict() -> None:
    timeline = row(40, 20, after=False, usd=3.0) + row(40, 4, after=True, usd=2.0)
    usd, minutes, ended_well = measured(timeline).changes
    assert (usd.what, usd.difference.estimate, usd.sessions) == ("usd", -1.0, (40, 40))
    assert usd.p < 0.001 and minutes.difference == Interval(0.0, 0.0, 0.0)
    assert ended_well.difference.estimate == pytest.approx(0.4)


def test_a_cure_is_looked_for_where_its_problem_was_met() -> None:
    cure = Signal("c1", "cure", "npm ci", about="boom", tried=1)
    vain = replace(cure, count=0)
    problem = Signal("x", "recurring_error", "boom")
    met = [
        replace(session(f"s{at}", SINCE, False), signals=signals)
        for at, signals in enumerate([(cure, problem), (vain, problem), (problem,), ()])
    ]
    watched = watch("c1", "success", (), met)
    assert [watched.applies(one) for one in met] == [True, True, True, False]
    assert [watched.shows(one) for one in met] == [True, False, False, False]
    assert watched.better == "more"
