"""What calls of models cost, as values: one call, the sums a budget is held against, a report."""

from __future__ import annotations

from typing import Literal

import msgspec

SpendGroup = Literal["day", "purpose", "model"]


class Call(msgspec.Struct, frozen=True):
    """One call of a model before it is made: its tokens and dollars are the most it may cost."""

    at: int
    day: str
    """Local date: daily caps follow the user's day, not UTC."""
    run: str
    purpose: str
    provider: str
    model: str
    input_tokens: int
    output_tokens: int
    usd: float | None
    """None where no price is known: such a call counts by its tokens only."""


class Settled(msgspec.Struct, frozen=True):
    """What a call really cost, once it has ended; `error` is a kind of failure, never a text."""

    model: str
    input_tokens: int
    output_tokens: int
    usd: float | None
    error: str | None = None


class Spent(msgspec.Struct, frozen=True):
    """What a run and a day have cost so far; calls under way count with their estimate."""

    run_calls: int = 0
    run_tokens: int = 0
    run_usd: float = 0.0
    day_tokens: int = 0
    day_usd: float = 0.0
    run_ms: int = 0
    """How long the run has been going on; filled in by the caller that knows its start."""


class SpendRow(msgspec.Struct, frozen=True):
    """What calls of one day, purpose or model cost together."""

    name: str
    calls: int
    failed: int
    unsettled: int
    """Calls whose process ended before they did: they count with their estimate."""
    input_tokens: int
    output_tokens: int
    usd: float
    unpriced: int
    """Calls whose price is unknown: their dollars are not in `usd`."""
