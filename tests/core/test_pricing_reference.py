"""Our table against genai-prices, the development dependency it is made from."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest

from session_memory.core.pricing import load_table, price
from session_memory.core.schema import Usage

if importlib.util.find_spec("genai_prices") is None:
    pytest.skip("genai-prices is not installed", allow_module_level=True)

MOMENTS = (datetime(2025, 3, 1, 7, tzinfo=UTC), datetime(2026, 10, 25, 12, tzinfo=UTC))
LENGTHS = (1, 60)
"""9,500 tokens of input are below every long-context tier, 570,000 above all of them."""


def both(name: str, at: datetime, length: int) -> tuple[Usage, Any]:
    """The same response in our words and in theirs; they count cached tokens as input too."""
    from genai_prices import Usage as Theirs

    ours = Usage(
        key="k",
        model=name,
        at=int(at.timestamp() * 1000),
        input=1000 * length,
        output=500,
        cache_read=8000 * length,
        cache_write_5m=300 * length,
        cache_write_1h=200 * length,
    )
    theirs = Theirs(
        input_tokens=9500 * length,
        output_tokens=500,
        cache_read_tokens=8000 * length,
        cache_write_tokens=500 * length,
        cache_write_1h_tokens=200 * length,
    )
    return ours, theirs


@pytest.mark.parametrize(
    "name",
    [
        "claude-3-5-haiku-20241022",
        "claude-opus-4-20250514",
        "claude-sonnet-4-5-20250929",
        "claude-sonnet-4.6",
        "claude-opus-4-6",
        "claude-opus-4-5@20251101",
        "claude-haiku-5-5",
        "gpt-4o-2024-05-13",
        "gpt-5.2-20251211",
        "gpt-5.6-sol",
        "grok-4.20",
        "gemini-2.5-pro-preview-05-06",
        "deepseek-chat",
    ],
)
@pytest.mark.parametrize("length", LENGTHS)
def test_a_response_costs_what_genai_prices_says(name: str, length: int) -> None:
    from genai_prices import calc_price

    for at in MOMENTS:
        ours, theirs = both(name, at, length)
        expected = float(calc_price(theirs, name, genai_request_timestamp=at).total_price)
        assert price(ours, load_table()) == pytest.approx(expected, rel=1e-9)


def test_every_model_of_the_four_large_vendors_costs_what_genai_prices_says() -> None:
    table = load_table()
    compared = 0
    for name, model, provider in own_models():
        for at in MOMENTS:
            ours, theirs = both(name, at, LENGTHS[0])
            expected = model.calc_price(theirs, provider, genai_request_timestamp=at).total_price
            assert price(ours, table) == pytest.approx(float(expected), rel=1e-9), name
            compared += 1
    assert compared > 300


def own_models() -> Iterator[tuple[str, Any, Any]]:
    """(id, model, provider) of each model that bills text, as genai-prices would find it."""
    from genai_prices.data import providers

    for provider in providers:
        if provider.id not in ("anthropic", "openai", "x-ai", "google"):
            continue
        for listed in provider.models:
            model = provider.find_model(listed.id)
            resold = provider.id == "google" and "claude" in listed.id
            if model is None or resold or listed.id.startswith("ft:"):
                continue
            rates = model.get_prices(MOMENTS[0])
            if rates.input_mtok is not None and rates.output_mtok is not None:
                yield listed.id, model, provider
