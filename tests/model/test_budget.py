"""Which calls fit under the caps, why others are deferred, and how much input a call may have."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from session_memory.core.spend import Spent
from session_memory.model.budget import (
    Caps,
    Estimate,
    input_limit,
    largest,
    reason_to_defer,
    remaining,
    tokens_in,
)
from session_memory.model.budget import tokens_of as count

CAPS = Caps(
    run_calls=3, run_tokens=1_000, day_tokens=2_000, run_usd=1.0, day_usd=2.0, run_ms=60_000
)
SMALL = Estimate(100, 50, 0.1)
LONG = [10**6]

tokens = st.integers(0, 10_000)
dollars = st.floats(0, 10, allow_nan=False)


@given(
    caps=st.builds(
        Caps,
        run_calls=st.integers(0, 20),
        run_tokens=tokens,
        day_tokens=tokens,
        run_usd=dollars,
        day_usd=dollars,
        run_ms=st.just(1),
    ),
    calls=st.lists(
        st.builds(
            Estimate, input_tokens=tokens, output_tokens=tokens, usd=st.one_of(st.none(), dollars)
        ),
        max_size=30,
    ),
)
def test_whatever_is_asked_no_cap_is_ever_passed(caps: Caps, calls: list[Estimate]) -> None:
    spent = Spent()
    for call in calls:
        if reason_to_defer(caps, spent, call) is None:
            spent = Spent(
                run_calls=spent.run_calls + 1,
                run_tokens=spent.run_tokens + call.tokens,
                run_usd=spent.run_usd + (call.usd or 0),
                day_tokens=spent.day_tokens + call.tokens,
                day_usd=spent.day_usd + (call.usd or 0),
            )
    assert spent.run_calls <= caps.run_calls
    assert spent.run_tokens <= caps.run_tokens
    assert spent.day_tokens <= caps.day_tokens
    assert spent.run_usd <= caps.run_usd
    assert spent.day_usd <= caps.day_usd


def test_a_call_that_just_fits_is_allowed_and_one_token_more_is_not() -> None:
    spent = Spent(run_tokens=850, day_tokens=850)

    assert reason_to_defer(CAPS, spent, SMALL) is None
    assert reason_to_defer(CAPS, spent, Estimate(101, 50, 0.1)) is not None


@pytest.mark.parametrize(
    ("spent", "named"),
    [
        (Spent(run_calls=3), "3 of 3 calls of this run"),
        (Spent(run_tokens=900), "900 of 1000 of this run"),
        (Spent(day_tokens=1_900), "1900 of 2000 of today"),
        (Spent(run_usd=0.95), "$0.9500 of $1.00 of this run"),
        (Spent(day_usd=1.95), "$1.9500 of $2.00 of today"),
        (Spent(run_ms=60_000), "1 minutes, and they are over"),
    ],
)
def test_each_cap_stops_a_call_and_is_named(spent: Spent, named: str) -> None:
    assert named in (reason_to_defer(CAPS, spent, SMALL) or "")


def test_without_a_price_only_the_tokens_of_a_call_count() -> None:
    unpriced = msgspec.structs.replace(SMALL, usd=None)

    assert reason_to_defer(CAPS, Spent(), unpriced) is None
    assert reason_to_defer(CAPS, Spent(run_usd=1.1), unpriced) is not None


def test_what_is_left_is_never_less_than_nothing() -> None:
    spent = Spent(run_calls=9, run_tokens=9_000, day_tokens=500, run_usd=9, day_usd=0.5)
    rest = remaining(CAPS, spent)

    assert (rest.run_calls, rest.run_tokens, rest.run_usd) == (0, 0, 0)
    assert (rest.day_tokens, rest.day_usd) == (1_500, 1.5)


@pytest.mark.parametrize(("text", "tokens"), [("", 0), ("abc", 1), ("abcd", 2), ("日本", 2)])
def test_tokens_are_a_third_of_the_bytes_rounded_up(text: str, tokens: int) -> None:
    assert count(text) == tokens


def cost(size: int) -> Estimate:
    """A hundred tokens beside the input, at a dollar for a million."""
    return Estimate(tokens_in(size), 100, (tokens_in(size) + 100) / 1e6)


def caps(**changes: int | float) -> Caps:
    fields = {"run_calls": 9, "run_tokens": 10**9, "day_tokens": 10**9, "run_ms": 1}
    return Caps(**{**fields, "run_usd": 1e9, "day_usd": 1e9, **changes})  # pyright: ignore


@pytest.mark.rows("EXT-61")
@pytest.mark.parametrize(
    ("bound", "limit"),
    [
        ({}, 10**6),
        ({"run_tokens": 10_100}, 30_000),
        ({"day_tokens": 10_100}, 30_000),
        ({"run_usd": 0.0101}, 30_000),
        ({"day_usd": 0.0101}, 30_000),
    ],
)
def test_each_cap_bounds_the_input(bound: dict[str, float], limit: int) -> None:
    assert input_limit(caps(**bound), Spent(), cost, LONG, 10**6) == limit
    assert input_limit(caps(**bound), Spent(), cost, LONG, 900) == 900, "the window is the least"


def test_short_inputs_leave_their_part_to_long_ones() -> None:
    # 3 calls of 100 tokens, 1,000 tokens for the short one: 9,000 are left for the two long ones.
    bound = caps(run_tokens=10_300)
    assert input_limit(bound, Spent(), cost, [3_000, *LONG, *LONG], 20_000) == 13_500


def test_a_run_that_is_nearly_spent_cuts_to_no_less_than_half_of_what_a_fresh_one_takes() -> None:
    bound = caps(run_tokens=10_100)
    assert input_limit(bound, Spent(run_tokens=9_000), cost, LONG, 10**6) == 15_000
    # What is put off now is put off because it does not fit, not because it was cut to nothing.
    assert reason_to_defer(bound, Spent(run_tokens=9_000), cost(15_000)) is not None


@given(
    sizes=st.lists(st.integers(0, 10**6), min_size=1, max_size=8),
    tokens=st.integers(0, 10**6),
    window=st.integers(0, 10**6),
)
def test_one_input_within_the_limit_always_fits_a_fresh_run(
    sizes: list[int], tokens: int, window: int
) -> None:
    bound = caps(run_tokens=tokens)
    limit = input_limit(bound, Spent(), cost, sizes, window)
    assert 0 <= limit <= window
    fresh = reason_to_defer(bound, Spent(), cost(min(limit, max(sizes))))
    assert limit == 0 or fresh is None


@given(st.integers(0, 1_000), st.integers(-1, 1_000))
def test_the_largest_that_fits_is_found(most: int, bound: int) -> None:
    assert largest(most, lambda number: number <= bound) == max(0, min(most, bound))
