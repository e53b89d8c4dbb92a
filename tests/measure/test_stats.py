"""Intervals and tests agree with scipy, which is not needed at run time."""

from __future__ import annotations

import random
from functools import cache
from statistics import fmean, median
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from session_memory.measure.stats import (
    Share,
    bootstrap_difference,
    clopper_pearson,
    contrast,
    fisher,
    mann_whitney,
    power,
    wilson,
)


@cache
def oracle() -> Any:
    """Loaded when used: it is slow to load, and every process collects this file."""
    from scipy import stats  # type: ignore[import-untyped]

    return stats


@st.composite
def shares(draw: st.DrawFn, largest: int = 400) -> Share:
    n = draw(st.integers(1, largest))
    return Share(draw(st.integers(0, n)), n)


LEVELS = st.sampled_from([0.8, 0.95, 0.99, 0.9997])


@settings(max_examples=60)
@given(shares(), LEVELS)
def test_shares_have_the_exact_and_the_score_interval(share: Share, level: float) -> None:
    result = oracle().binomtest(share.k, share.n)
    for ours, method in ((clopper_pearson, "exact"), (wilson, "wilson")):
        theirs = result.proportion_ci(level, method)
        mine = ours(share, level)
        assert (mine.low, mine.high) == pytest.approx((theirs.low, theirs.high), abs=1e-9)
        assert 0 <= mine.low <= mine.estimate <= mine.high <= 1


@settings(max_examples=60)
@given(shares(120), shares(120))
def test_fisher_is_the_exact_test(one: Share, other: Share) -> None:
    table = [[one.k, one.n - one.k], [other.k, other.n - other.k]]
    assert fisher(one, other) == pytest.approx(oracle().fisher_exact(table).pvalue, abs=1e-8)


@settings(max_examples=60)
@given(
    st.lists(st.integers(0, 12).map(float), min_size=2, max_size=40),
    st.lists(st.integers(0, 12).map(float), min_size=2, max_size=40),
)
def test_mann_whitney_counts_ties(one: list[float], other: list[float]) -> None:
    if len({*one, *other}) == 1:
        assert mann_whitney(one, other) == 1.0
        return
    theirs = oracle().mannwhitneyu(one, other, method="asymptotic").pvalue
    assert mann_whitney(one, other) == pytest.approx(theirs, abs=1e-9)


def test_the_difference_has_newcombes_interval() -> None:
    # Newcombe 1998, table II, method 10: the published figures.
    for one, other, low, high in (
        (Share(56, 70), Share(48, 80), 0.0524, 0.3339),
        (Share(9, 10), Share(3, 10), 0.1705, 0.8090),
        (Share(10, 10), Share(0, 20), 0.6791, 1.0),
    ):
        found = contrast([one], [other])
        assert (found.low, found.high) == pytest.approx((low, high), abs=1e-4)


def test_a_difference_in_differences_covers_what_is_true() -> None:
    draw = random.Random(7).random
    truth, covered = (0.3 - 0.5) - (0.4 - 0.4), 0
    for _ in range(400):
        after, before, control_after, control_before = (
            Share(sum(draw() < rate for _ in range(40)), 40) for rate in (0.3, 0.5, 0.4, 0.4)
        )
        found = contrast([after, control_before], [before, control_after])
        covered += found.low <= truth <= found.high
    assert 0.92 <= covered / 400 <= 0.985


def test_the_bootstrap_is_the_same_each_time_and_near_scipys() -> None:
    draw = random.Random(3).lognormvariate
    one, other = [draw(1, 0.5) for _ in range(60)], [draw(1.3, 0.5) for _ in range(60)]
    found = bootstrap_difference(one, other, fmean)
    assert found == bootstrap_difference(one, other, fmean)
    theirs = (
        oracle()
        .bootstrap(
            (one, other),
            lambda a, b, axis: a.mean(axis) - b.mean(axis),
            method="percentile",
            rng=1,
        )
        .confidence_interval
    )
    assert (found.low, found.high) == pytest.approx((theirs.low, theirs.high), abs=0.1)
    middle = bootstrap_difference(one, other, median)
    assert middle.low <= middle.estimate == median(one) - median(other) <= middle.high


def test_power_grows_with_sessions_and_meets_the_textbook_figure() -> None:
    # Fleiss: 0.5 against 0.25 at 5 percent, 80 percent power, needs about 55 in each group.
    assert power([0.5, 0.25], [55, 55], 0.25, 0.95) == pytest.approx(0.8, abs=0.01)
    small, large = (power([0.5, 0.25], [n, n], 0.25, 0.95) for n in (20, 100))
    assert small < 0.5 < 0.95 < large


def test_nothing_known_is_said_as_such() -> None:
    assert (wilson(Share(0, 0)).low, wilson(Share(0, 0)).high) == (0.0, 1.0)
    assert mann_whitney([], [1.0]) == 1.0
    assert power([0.0, 0.0], [5, 5], 0.1, 0.95) == 1.0
