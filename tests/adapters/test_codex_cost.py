"""Codex cost: each response once, over repeated counts, resets, forks and exact records."""

from __future__ import annotations

from collections import Counter

import pytest
from tests.adapters.codex_reading import only, parse_log

from session_memory.adapters.codex.log_builder import MODEL, CodexLog, tokens
from session_memory.adapters.common import Normalized


def cost(*bundles: Normalized) -> Counter[str]:
    """Tokens by part over all bundles, each response once, as the store counts them."""
    by_key = {usage.key: usage for bundle in bundles for usage in only(bundle).usages}
    total: Counter[str] = Counter()
    for usage in by_key.values():
        total.update(
            input=usage.input,
            read=usage.cache_read,
            output=usage.output,
            reasoning=usage.reasoning,
        )
    return total


def spent(given: int, cached: int, output: int, reasoning: int) -> Counter[str]:
    return Counter(input=given - cached, read=cached, output=output, reasoning=reasoning)


@pytest.mark.rows("CAP-07")
def test_cumulative_counts_cost_their_steps_and_a_count_told_again_nothing() -> None:
    log = CodexLog(1).header().turn().prompt("x")
    log.spend(tokens(100, 40, 10, 4)).count(tokens(100, 40, 10, 4))
    log.event("token_count", info=None, rate_limits={})
    log.turn("other-model").spend(tokens(300, 200, 20, 8)).count(tokens(0))
    usages = only(parse_log(log)).usages
    assert [usage.model for usage in usages] == [MODEL, "other-model"]
    assert cost(parse_log(log)) == spent(400, 240, 30, 12)


@pytest.mark.rows("CAP-07")
def test_exact_records_win_by_response_over_the_counts_beside_them() -> None:
    log = CodexLog(1, mode="paginated").header().turn().prompt("x").answer("y")
    log.spend(tokens(100, 40, 10, 4), record=True)
    log.rows.append(log.rows[-2])  # the record once more
    log.spent = tokens(90_000)  # a count that disagrees
    log.count(tokens(90_000))
    assert cost(parse_log(log)) == spent(100, 40, 10, 4)


@pytest.mark.rows("CAP-07")
def test_a_turn_without_records_behind_one_with_them_is_counted() -> None:
    log = CodexLog(1).header().turn().prompt("x").spend(tokens(100, 0, 10), record=True)
    log.turn().prompt("y").spend(tokens(50, 0, 5))
    assert cost(parse_log(log)) == spent(150, 0, 15, 0)


@pytest.mark.rows("CAP-07")
@pytest.mark.parametrize("restamped", [True, False])
def test_a_fork_that_copies_its_parent_costs_only_what_it_did_itself(restamped: bool) -> None:
    parent = CodexLog(1).header().turn().prompt("x").answer("y")
    parent.spend(tokens(100, 40, 10, 4)).spend(tokens(200, 80, 20, 8))
    child = parent.fork(2, restamped=restamped)
    assert cost(parse_log(child)) == Counter()  # an empty fork did nothing
    child.turn().prompt("z").answer("w").spend(tokens(50, 0, 5))
    assert cost(parse_log(child)) == spent(50, 0, 5, 0)
    grandchild = child.fork(3, restamped=restamped)
    grandchild.turn().prompt("v").spend(tokens(7, 0, 1))
    assert cost(parse_log(grandchild)) == spent(7, 0, 1, 0)
    every = [parse_log(log) for log in (parent, child, grandchild)]
    assert cost(*every) == spent(357, 120, 36, 12)


@pytest.mark.rows("CAP-07")
def test_a_fork_that_points_at_its_parent_goes_on_from_its_counts() -> None:
    parent = CodexLog(1, mode="paginated").header().turn().prompt("x").answer("y")
    parent.spend(tokens(1000, 400, 100))
    child = CodexLog(2, mode="paginated", at=parent.at + 1000)
    child.header(
        forked_from_id=parent.thread,
        history_base={"thread_id": parent.thread, "end_ordinal_exclusive": 9},
    )
    child.spent = parent.spent
    child.count(tokens(1000, 400, 100))  # told again at the start: not the fork's
    child.turn().prompt("z").answer("w").spend(tokens(50, 20, 5)).spend(tokens(60, 20, 6))
    assert cost(parse_log(child)) == spent(110, 40, 11, 0)


@pytest.mark.rows("CAP-07")
def test_two_forks_with_equal_counts_stay_two() -> None:
    parent = CodexLog(1).header().turn().prompt("x").spend(tokens(100, 0, 10))
    forks = [parent.fork(seed).turn().prompt("same").spend(tokens(50, 0, 5)) for seed in (2, 3)]
    every = [parse_log(log) for log in (parent, *forks)]
    assert cost(*every) == spent(200, 0, 20, 0)


def test_counts_that_fall_or_hold_only_a_window_size_lose_nothing() -> None:
    log = CodexLog(1).header().turn().spend(tokens(100, 0, 10))
    log.event("token_count", info={"total_token_usage": {"total_tokens": 258_400}})
    log.spent = tokens(0)
    log.spend(tokens(30, 0, 3)).spend(tokens(20, 0, 2))
    assert cost(parse_log(log)) == spent(150, 0, 15, 0)


def test_numbers_that_are_none_count_as_nothing() -> None:
    log = CodexLog(1).header().turn()
    bad = {"input_tokens": "9", "output_tokens": -1, "cached_input_tokens": 1e30}
    log.event("token_count", info={"total_token_usage": bad, "last_token_usage": [1]})
    log.row("token_usage_record", {"response_id": "r", "usage": bad})
    log.row("token_usage_record", {"usage": "no"})
    assert cost(parse_log(log)) == Counter(input=0, read=0, output=0, reasoning=0)
