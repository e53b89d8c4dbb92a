"""A call is allowed only while every cap still holds after it; the reason names the cap."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from session_memory.model.budget import Allowed, Caps, Deferred, Estimate, Spent, decide, left
from session_memory.model.budget import tokens_of as count

CAPS = Caps(
    run_calls=3, run_tokens=1_000, day_tokens=2_000, run_usd=1.0, day_usd=2.0, run_ms=60_000
)
SMALL = Estimate(100, 50, 0.1)

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
        if isinstance(decide(caps, spent, call), Allowed):
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

    assert decide(CAPS, spent, SMALL) == Allowed(priced=True)
    assert isinstance(decide(CAPS, spent, Estimate(101, 50, 0.1)), Deferred)


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
    verdict = decide(CAPS, spent, SMALL)

    assert isinstance(verdict, Deferred)
    assert named in verdict.reason


def test_without_a_price_tokens_alone_count_and_it_is_said() -> None:
    unpriced = msgspec.structs.replace(SMALL, usd=None)

    assert decide(CAPS, Spent(), unpriced) == Allowed(priced=False)
    assert isinstance(decide(CAPS, Spent(run_usd=1.1), unpriced), Deferred)


def test_what_is_left_is_never_less_than_nothing() -> None:
    rest = left(CAPS, Spent(run_calls=9, run_tokens=9_000, day_tokens=500, run_usd=9, day_usd=0.5))

    assert (rest.run_calls, rest.run_tokens, rest.run_usd) == (0, 0, 0)
    assert (rest.day_tokens, rest.day_usd) == (1_500, 1.5)


@pytest.mark.parametrize(("text", "tokens"), [("", 0), ("abc", 1), ("abcd", 2), ("日本", 2)])
def test_tokens_are_a_third_of_the_bytes_rounded_up(text: str, tokens: int) -> None:
    assert count(text) == tokens
