"""How much input a call may have: by the window, by the caps, and shared by those who ask."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.model.meters import ASKED, RICH, metered

from session_memory.core.spend import Spent
from session_memory.errors import BudgetSpent, ModelUnavailable
from session_memory.model.budget import Allowed, Caps, Estimate, decide, tokens_in
from session_memory.model.metered import LEAST_TURNS
from session_memory.model.port import Request
from session_memory.model.room import answer_tokens, input_limit, largest
from session_memory.store.sqlite import SqliteStore
from session_memory.testing.scripted_model import ScriptedModel

LONG = [10**6]


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
    assert not isinstance(decide(bound, Spent(run_tokens=9_000), cost(15_000)), Allowed)


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
    assert limit == 0 or isinstance(decide(bound, Spent(), cost(min(limit, max(sizes)))), Allowed)


@given(st.integers(0, 1_000), st.integers(-1, 1_000))
def test_the_largest_that_fits_is_found(most: int, bound: int) -> None:
    assert largest(most, lambda number: number <= bound) == max(0, min(most, bound))


@pytest.mark.rows("EXT-61")
def test_the_window_leaves_room_for_instructions_and_answer(store: SqliteStore) -> None:
    model = metered(ScriptedModel(), store, window=10_000)
    # "system" and "user" are two tokens each, the answer ninety.
    assert model.input_limit(ASKED, LONG) == (10_000 - 4 - 90) * 3
    agent = metered(ScriptedModel(), store, window=10_000, turn_tokens=1_000)
    assert agent.input_limit(ASKED, LONG) == (10_000 - 4 - 1_000 - 2 * 90) * 3


def test_a_window_without_room_and_caps_without_room_say_so(store: SqliteStore) -> None:
    with pytest.raises(ModelUnavailable, match="a window of 400 tokens has no room") as small:
        metered(ScriptedModel(), store, window=400).input_limit(ASKED, LONG)
    assert "model.context_tokens" in str(small.value.hint)
    with pytest.raises(BudgetSpent, match="the caps leave no room"):
        metered(ScriptedModel(), store, run_tokens=200).input_limit(ASKED, LONG)


def test_an_answer_is_at_most_a_quarter_of_the_window(store: SqliteStore) -> None:
    assert (answer_tokens(8_000, 128_000), answer_tokens(8_000, 8_192)) == (8_000, 2_048)
    model = ScriptedModel(["yes"])
    metered(model, store, window=80).ask(ASKED)
    assert model.requests[0].max_output_tokens == 20


@pytest.mark.rows("EXT-61")
@pytest.mark.parametrize(("tokens", "turns"), [(10**6, 16), (11_000, 10), (100_000, 16)])
def test_an_agent_gets_the_turns_that_a_fresh_run_can_pay(
    store: SqliteStore, tokens: int, turns: int
) -> None:
    model = ScriptedModel(["done"])
    folder = Request("p", "", "", max_output_tokens=100, folder="/x", max_turns=16)
    metered(model, store, run_tokens=tokens, turn_tokens=1_000).ask(folder)
    assert model.requests[0].max_turns == turns


def test_fewer_turns_than_an_agent_needs_are_not_tried(store: SqliteStore) -> None:
    folder = Request("p", "", "", max_output_tokens=100, folder="/x", max_turns=16)
    short = metered(ScriptedModel(), store, run_tokens=1_100 * (LEAST_TURNS - 1), turn_tokens=1_000)
    with pytest.raises(BudgetSpent):
        short.ask(folder)
    assert RICH.run_tokens > 10**6
