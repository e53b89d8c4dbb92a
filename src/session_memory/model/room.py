"""How much input a call may have: what the model's window and the caps leave. Pure.

What does not fit is cut by the caller. Cutting loses less than never asking, but a session that is
read once is not read again: so nothing is cut to less than half of what a fresh run would take,
only because this run has spent most of its budget. Such a call is put off instead.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from session_memory.core.spend import Spent
from session_memory.model.budget import BYTES_PER_TOKEN, Allowed, Caps, Estimate, decide

OUTPUT_SHARE = 4
"""At most a quarter of the window is kept free for the answer."""

Cost = Callable[[int], Estimate]
"""The most a call costs with so many bytes of input."""


def answer_tokens(wanted: int, window: int) -> int:
    """How long an answer may be: as asked for, but a small window is not all answer."""
    return min(wanted, window // OUTPUT_SHARE)


def window_bytes(window: int, besides: int) -> int:
    """The bytes of input that fit into a window beside so many other tokens."""
    return max(0, window - besides) * BYTES_PER_TOKEN


def input_limit(caps: Caps, spent: Spent, cost: Cost, sizes: Sequence[int], most: int) -> int:
    """The bytes that each of several inputs may have, so that all of them fit under the caps.

    Short inputs leave their part to long ones. `most` is what the window takes.
    """

    def together(limit: int) -> bool:
        total = _sum([cost(min(size, limit)) for size in sizes])
        return isinstance(decide(caps, spent, total), Allowed)

    def alone(limit: int) -> bool:
        return isinstance(decide(caps, Spent(), cost(limit)), Allowed)

    return max(largest(most, together), largest(most, alone) // 2)


def largest(most: int, fits: Callable[[int], bool]) -> int:
    """The largest number up to `most` that fits, where smaller ones fit better; 0 if none does."""
    low, high = 0, most
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if fits(middle) else (low, middle - 1)
    return low


def _sum(estimates: Sequence[Estimate]) -> Estimate:
    prices = [one.usd for one in estimates if one.usd is not None]
    return Estimate(
        sum(one.input_tokens for one in estimates),
        sum(one.output_tokens for one in estimates),
        sum(prices) if prices else None,
    )
