"""Budget decisions, as pure functions: whether one more call fits, and how much input it may have.

Input that does not fit is cut by the caller. Cutting loses less than never asking, but a session is
read only once. So nothing is cut to less than half of what a fresh run would take merely because
this run has spent most of its budget: such a call is deferred instead.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from session_memory.core.spend import Spent

BYTES_PER_TOKEN = 3
"""Real text has three to four bytes per token; overestimating tokens keeps a cap a cap."""
OUTPUT_SHARE = 4
"""At most a quarter of the context window is kept free for the answer."""


class Caps(msgspec.Struct, frozen=True):
    """The most a run and a day may cost."""

    run_calls: int
    run_tokens: int
    day_tokens: int
    run_usd: float
    day_usd: float
    run_ms: int


class Estimate(msgspec.Struct, frozen=True):
    """The most one call is expected to cost; `usd` is None if no price is known."""

    input_tokens: int
    output_tokens: int
    usd: float | None

    @property
    def tokens(self) -> int:
        """Input and output together, as caps count them."""
        return self.input_tokens + self.output_tokens


class Remaining(msgspec.Struct, frozen=True):
    """What may still be spent."""

    run_calls: int
    run_tokens: int
    day_tokens: int
    run_usd: float
    day_usd: float


CostOf = Callable[[int], Estimate]
"""The most a call costs with that many bytes of input."""


def reason_to_defer(caps: Caps, spent: Spent, estimate: Estimate) -> str | None:
    """Why a call must wait: the cap, what is spent and what the call needs. None if it fits.

    A call fits only if every cap still holds after it.
    """
    if spent.run_ms >= caps.run_ms:
        return f"this run may take {caps.run_ms / 60_000:g} minutes, and they are over"
    if spent.run_calls + 1 > caps.run_calls:
        return f"{spent.run_calls} of {caps.run_calls} calls of this run are made"
    for period, token_cap, tokens in (
        ("this run", caps.run_tokens, spent.run_tokens),
        ("today", caps.day_tokens, spent.day_tokens),
    ):
        if tokens + estimate.tokens > token_cap:
            return (
                f"the call may need {estimate.tokens} tokens,"
                f" and {tokens} of {token_cap} of {period} are spent"
            )
    for period, usd_cap, usd in (
        ("this run", caps.run_usd, spent.run_usd),
        ("today", caps.day_usd, spent.day_usd),
    ):
        # If this call has no price, what other calls cost still counts against the cap.
        if usd + (estimate.usd or 0.0) > usd_cap:
            return (
                f"the call may cost ${estimate.usd or 0.0:.4f},"
                f" and ${usd:.4f} of ${usd_cap:.2f} of {period} are spent"
            )
    return None


def remaining(caps: Caps, spent: Spent) -> Remaining:
    """What the caps still leave, never below zero."""
    return Remaining(
        run_calls=max(0, caps.run_calls - spent.run_calls),
        run_tokens=max(0, caps.run_tokens - spent.run_tokens),
        day_tokens=max(0, caps.day_tokens - spent.day_tokens),
        run_usd=max(0.0, caps.run_usd - spent.run_usd),
        day_usd=max(0.0, caps.day_usd - spent.day_usd),
    )


def tokens_of(text: str) -> int:
    """An upper estimate of the tokens in a text: a third of its bytes, rounded up."""
    return tokens_in(len(text.encode("utf-8", "surrogatepass")))


def tokens_in(size: int) -> int:
    """The same for a number of bytes."""
    return -(-size // BYTES_PER_TOKEN)


def answer_tokens(requested: int, window: int) -> int:
    """How long an answer may be: as requested, but at most its share of a small window."""
    return min(requested, window // OUTPUT_SHARE)


def window_bytes(window: int, other_tokens: int) -> int:
    """How many bytes of input fit into a window besides that many other tokens."""
    return max(0, window - other_tokens) * BYTES_PER_TOKEN


def input_limit(
    caps: Caps, spent: Spent, cost_of: CostOf, sizes: Sequence[int], window_limit: int
) -> int:
    """How many bytes each of several inputs may have so that all of them fit under the caps.

    Short inputs leave their share to long ones.
    """

    def all_fit(limit: int) -> bool:
        total = _sum([cost_of(min(size, limit)) for size in sizes])
        return reason_to_defer(caps, spent, total) is None

    def fits_fresh_run(limit: int) -> bool:
        return reason_to_defer(caps, Spent(), cost_of(limit)) is None

    return max(largest(window_limit, all_fit), largest(window_limit, fits_fresh_run) // 2)


def largest(maximum: int, fits: Callable[[int], bool]) -> int:
    """The largest number up to `maximum` that fits, 0 if none does; smaller numbers fit better."""
    low, high = 0, maximum
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if fits(middle) else (low, middle - 1)
    return low


def _sum(estimates: Sequence[Estimate]) -> Estimate:
    prices = [estimate.usd for estimate in estimates if estimate.usd is not None]
    return Estimate(
        sum(estimate.input_tokens for estimate in estimates),
        sum(estimate.output_tokens for estimate in estimates),
        sum(prices) if prices else None,
    )
