"""Tokens to dollars: names, dates, tiers, caches, and the difference between free and unknown."""

from __future__ import annotations

from datetime import UTC, date, datetime

import msgspec
import pytest

from session_memory.core.pricing import (
    PriceTable,
    canonical,
    load_table,
    parse_table,
    price,
    table_version,
)
from session_memory.core.schema import Usage

MILLION = 1_000_000


def ms(*when: int) -> int:
    return int(datetime(*when, tzinfo=UTC).timestamp() * 1000)


def small_table() -> PriceTable:
    """Round figures, so that an expected sum can be read off."""
    models = [
        {
            "names": ["plain"],
            "prices": [
                {
                    "input": 10,
                    "output": 50,
                    "cache_read": 1,
                    "cache_write_5m": 12,
                    "cache_write_1h": 20,
                }
            ],
        },
        {"names": ["bare"], "prices": [{"input": 2, "output": 4}]},
        {"names": ["half"], "prices": [{"input": 2, "output": 4, "cache_write_5m": 3}]},
        {
            "names": ["long"],
            "prices": [
                {
                    "input": 1,
                    "output": 2,
                    "tiers": [
                        {"over": 100, "input": 10, "output": 20},
                        {"over": 200, "input": 100, "output": 200},
                    ],
                }
            ],
        },
        {
            "names": ["moved"],
            "prices": [
                {"input": 8, "output": 8},
                {"input": 4, "output": 4, "from": "2026-03-13"},
                {"input": 1, "output": 1, "from": "2027-01-01"},
            ],
        },
        {
            "names": ["peak"],
            "prices": [
                {"input": 1, "output": 1},
                {"input": 2, "output": 2, "hours": [60, 240]},
                {"input": 3, "output": 3, "hours": [1380, 30]},
            ],
        },
        {
            "names": ["modal"],
            "prices": [
                {"input": 1, "output": 2, "tiers": [{"over": 100, "input": 3, "output": 6}]}
            ],
            "modes": {"fast": {"times": 6}, "priority": {"times": 2, "up_to": 100}},
        },
        {"prefixes": ["family-"], "prices": [{"input": 1, "output": 1}]},
        {"prefixes": ["family-mini"], "prices": [{"input": 2, "output": 2}]},
        {"names": ["family-20250101"], "prices": [{"input": 3, "output": 3}]},
    ]
    content = {"version": "2026-11-15", "source": "test", "models": models}
    return parse_table(msgspec.json.encode(content))


TABLE = small_table()


def usage(model: str, **tokens: int) -> Usage:
    return msgspec.structs.replace(Usage(key="k", model=model), **tokens)


def test_each_kind_of_token_has_its_own_price() -> None:
    kinds = {"input": 10, "output": 50, "cache_read": 1, "cache_write_5m": 12, "cache_write_1h": 20}
    for kind, dollars in kinds.items():
        assert price(usage("plain", **{kind: MILLION}), TABLE) == dollars
    assert price(usage("plain", **dict.fromkeys(kinds, MILLION)), TABLE) == sum(kinds.values())


def test_reasoning_is_part_of_output_and_not_billed_again() -> None:
    assert price(usage("plain", output=MILLION, reasoning=MILLION), TABLE) == 50


def test_cache_traffic_without_a_price_is_billed_as_the_plainer_kind() -> None:
    assert price(usage("bare", cache_read=MILLION), TABLE) == 2
    assert price(usage("bare", cache_write_1h=MILLION), TABLE) == 2
    assert price(usage("half", cache_write_1h=MILLION), TABLE) == 3


def test_an_unknown_model_has_no_price_rather_than_none_to_pay() -> None:
    assert price(usage("never-heard-of", input=5), TABLE) is None
    assert price(usage("", input=5), TABLE) is None
    assert price(usage("never-heard-of"), TABLE) is None


def test_an_answer_no_model_wrote_costs_nothing() -> None:
    assert price(usage("<synthetic>"), TABLE) == 0.0


def test_dollars_stated_by_the_log_win() -> None:
    stated = Usage(key="k", model="plain", input=MILLION, usd=0.25)
    assert price(stated, TABLE) == 0.25
    assert price(msgspec.structs.replace(stated, model="unheard", usd=0.0), TABLE) == 0.0


@pytest.mark.parametrize(
    ("tokens", "rate"),
    [
        ({"input": 100}, 1),
        ({"input": 101}, 10),
        ({"input": 1, "cache_read": 100}, 10),
        ({"input": 1, "cache_write_5m": 50, "cache_write_1h": 50}, 10),
        ({"input": 201}, 100),
    ],
)
def test_long_input_moves_the_whole_response_to_a_higher_tier(
    tokens: dict[str, int], rate: int
) -> None:
    read = sum(tokens.values())
    expected = (read * rate + 7 * rate * 2) / MILLION
    assert price(usage("long", output=7, **tokens), TABLE) == pytest.approx(expected, rel=1e-12)


@pytest.mark.rows("CAP-15")
@pytest.mark.parametrize(
    ("mode", "tokens", "dollars"),
    [
        ("", 100, 100),
        ("fast", 100, 600),
        ("fast", 101, 1818),
        ("priority", 100, 200),
        ("priority", 101, None),
        ("batch", 100, None),
    ],
)
def test_a_mode_costs_a_multiple_of_its_tier_or_is_not_known(
    mode: str, tokens: int, dollars: int | None
) -> None:
    spent = Usage(key="k", model="modal", input=tokens, mode=mode)
    found = price(spent, TABLE)
    assert found == (None if dollars is None else pytest.approx(dollars / MILLION))


@pytest.mark.rows("CAP-15")
@pytest.mark.parametrize(
    ("model", "mode", "times"),
    [
        ("claude-opus-5.5", "fast", 2),
        ("claude-opus-4-8", "fast", 2),
        ("claude-opus-4-7", "fast", 6),
        ("claude-opus-4-6-20260205", "fast", 6),
        ("claude-haiku-4-5", "batch", 0.5),
        ("gpt-5.5", "priority", 2.5),
        ("gpt-5.1-codex", "priority", 2),
        ("gpt-5.4", "flex", 0.5),
        ("gpt-6.1-sol", "priority", 2),
        ("gpt-6.1-terra", "flex", 0.5),
        ("gpt-6-astra", "batch", 0.5),
        ("gemini-2.5-pro", "batch", 0.5),
        ("gemini-3.8-flash", "flex", 0.5),
    ],
)
def test_the_shipped_table_knows_the_modes_of_large_vendors(
    model: str, mode: str, times: float
) -> None:
    plain = Usage(key="k", model=model, input=1000, output=10, cache_read=500)
    usual = price(plain, load_table())
    assert usual is not None
    assert price(msgspec.structs.replace(plain, mode=mode), load_table()) == pytest.approx(
        times * usual
    )


def test_long_output_alone_does_not_reach_a_tier() -> None:
    assert price(usage("long", input=1, output=MILLION), TABLE) == pytest.approx(2.000001)


@pytest.mark.parametrize(
    ("at", "dollars"),
    [
        (ms(2020, 1, 1), 8),
        (ms(2026, 3, 12, 23, 59), 8),
        (ms(2026, 3, 13), 4),
        (ms(2027, 1, 1), 1),
        (None, 4),
    ],
)
def test_a_response_costs_what_it_cost_on_its_day(at: int | None, dollars: int) -> None:
    spent = Usage(key="k", model="moved", at=at, input=MILLION)
    assert price(spent, TABLE) == dollars


@pytest.mark.parametrize(
    ("hour", "minute", "dollars"),
    [(0, 59, 1), (1, 0, 2), (3, 59, 2), (4, 0, 1), (23, 0, 3), (0, 29, 3), (0, 30, 1)],
)
def test_peak_hours_are_hours_of_the_utc_day(hour: int, minute: int, dollars: int) -> None:
    at = ms(2026, 5, 5, hour, minute)
    assert price(Usage(key="k", model="peak", at=at, input=MILLION), TABLE) == dollars


@pytest.mark.parametrize(
    ("name", "dollars"),
    [
        ("family-large", 1),
        ("family-mini-2", 2),
        ("family-2025-01-01", 3),
        ("family-20260101", 1),
        ("family-mini:free", None),
        ("unfamily-mini", None),
        ("plain-20260101", 10),
        ("plain-2026-01-01", 10),
        ("plain@20260101", 10),
        ("plain@default", 10),
        ("plain-latest", 10),
        ("plain-turbo", None),
    ],
)
def test_exact_names_come_first_then_snapshots_then_the_longest_prefix(
    name: str, dollars: int | None
) -> None:
    assert price(usage(name, input=MILLION), TABLE) == dollars


@pytest.mark.parametrize(
    "spelling",
    [
        "claude-sonnet-4-5-20250929",
        "claude-sonnet-4-5-20250929[1m]",
        " Claude-Sonnet-4.5-20250929",
        "anthropic/claude-sonnet-4.5-20250929",
        "openrouter/anthropic/claude-sonnet-4-5@20250929",
        "anthropic.claude-sonnet-4-5-20250929-v1:0",
        "us.anthropic.claude-sonnet-4-5-20250929-v1:0",
        "us-gov.anthropic.claude-sonnet-4-5-20250929-v1",
        "arn:aws:bedrock:eu-west-1:1:inference-profile/eu.anthropic.claude-sonnet-4-5-20250929-v1:0",
        "claude-sonnet-4-5@20250929",
        "claude-sonnet-4-5-2025-09-29",
    ],
)
def test_every_spelling_of_a_model_is_that_model(spelling: str) -> None:
    assert canonical(spelling) == "claude-sonnet-4-5-20250929"
    # 3 dollars input, and 15 output, of a response short enough for the lower tier.
    priced = price(usage(spelling, input=100_000, output=100_000), load_table())
    assert priced == pytest.approx(1.8)


def test_a_newer_member_of_a_family_is_not_taken_for_an_older_one() -> None:
    guesses = ["claude-opus-4-99", "claude-opus-97", "gpt-5.97", "grok-4.97", "claude-fable-5-97"]
    assert [price(usage(name, input=1), load_table()) for name in guesses] == [None] * 5


def test_a_file_that_is_no_price_table_is_refused() -> None:
    with pytest.raises(msgspec.ValidationError):
        parse_table(b'{"version":"soon","source":"x","models":[]}')
    with pytest.raises(msgspec.ValidationError):
        parse_table(b'{"version":"2026-01-01","source":"x","models":[{"prices":[{"input":1}]}]}')


def test_the_shipped_table_is_dated_and_read_once() -> None:
    table = load_table()
    assert date.fromisoformat(table.version) >= date(2026, 11, 15)
    assert load_table() is table
    assert table_version() == table.version


@pytest.mark.parametrize(
    "model",
    ["claude-sonnet-4-5", "claude-opus-4-6", "claude-haiku-4-5", "claude-opus-5", "claude-fable-5"],
)
def test_claude_cache_writes_cost_a_quarter_more_and_for_an_hour_twice_the_input(
    model: str,
) -> None:
    def cost(**tokens: int) -> float:
        dollars = price(usage(model, **tokens), load_table())
        assert dollars is not None
        return dollars

    fresh = cost(input=100_000)
    assert cost(cache_write_5m=100_000) == pytest.approx(1.25 * fresh)
    assert cost(cache_write_1h=100_000) == pytest.approx(2 * fresh)
    assert cost(cache_read=100_000) == pytest.approx(0.1 * fresh)


def test_claude_four_six_had_a_long_context_price_until_it_was_dropped() -> None:
    long = Usage(key="k", model="claude-opus-4-6", at=ms(2026, 3, 1), input=300_000)
    assert price(long, load_table()) == pytest.approx(3.0)
    later = msgspec.structs.replace(long, at=ms(2026, 4, 1))
    assert price(later, load_table()) == pytest.approx(1.5)


@pytest.mark.parametrize("model", ["claude-sonnet-4-20250514", "claude-sonnet-4-0"])
def test_claude_sonnet_four_has_a_long_context_price_for_every_token(model: str) -> None:
    short = usage(model, cache_read=150_000, cache_write_5m=50_000, output=1000)
    long = usage(model, cache_read=150_000, cache_write_5m=50_001, output=1000)
    assert price(short, load_table()) == pytest.approx(0.045 + 0.1875 + 0.015)
    assert price(long, load_table()) == pytest.approx(0.09 + 0.3750075 + 0.0225)


@pytest.mark.parametrize(
    "model", ["gpt-5.1-codex", "gpt-5.5", "grok-code-fast-1", "grok-4.5", "gemini-2.5-pro"]
)
def test_the_models_other_agents_run_on_are_in_the_table(model: str) -> None:
    cold = price(usage(model, input=1000), load_table())
    warm = price(usage(model, cache_read=1000), load_table())
    assert cold and warm and 0 < warm < cold
