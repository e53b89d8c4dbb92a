"""Whether one more call fits: a pure decision from caps, what is spent, and the call's estimate."""

from __future__ import annotations

import msgspec

from session_memory.core.spend import Spent

__all__ = ["Allowed", "Caps", "Deferred", "Estimate", "Left", "Spent", "decide", "left"]

BYTES_PER_TOKEN = 3
"""Real text has three to four bytes a token; guessing too many tokens keeps a cap a cap."""


class Caps(msgspec.Struct, frozen=True):
    """The most a run and a day may cost."""

    run_calls: int
    run_tokens: int
    day_tokens: int
    run_usd: float
    day_usd: float
    run_ms: int


class Estimate(msgspec.Struct, frozen=True):
    """The most one call is expected to cost; `usd` is None where no price is known."""

    input_tokens: int
    output_tokens: int
    usd: float | None

    @property
    def tokens(self) -> int:
        """In and out together, as caps count them."""
        return self.input_tokens + self.output_tokens


class Allowed(msgspec.Struct, frozen=True):
    """The call fits. Without a price only its tokens were held against the caps."""

    priced: bool


class Deferred(msgspec.Struct, frozen=True):
    """The call is put off: `reason` names the cap, what is spent, and what was asked."""

    reason: str


class Left(msgspec.Struct, frozen=True):
    """What may still be spent."""

    run_calls: int
    run_tokens: int
    day_tokens: int
    run_usd: float
    day_usd: float


def decide(caps: Caps, spent: Spent, estimate: Estimate) -> Allowed | Deferred:
    """Allow a call only when every cap still holds after it."""
    if spent.run_ms >= caps.run_ms:
        return Deferred(f"this run may take {caps.run_ms / 60_000:g} minutes, and they are over")
    if spent.run_calls + 1 > caps.run_calls:
        return Deferred(f"{spent.run_calls} of {caps.run_calls} calls of this run are made")
    for name, cap, so_far in (
        ("this run", caps.run_tokens, spent.run_tokens),
        ("today", caps.day_tokens, spent.day_tokens),
    ):
        if so_far + estimate.tokens > cap:
            return Deferred(
                f"the call may need {estimate.tokens} tokens,"
                f" and {so_far} of {cap} of {name} are spent"
            )
    for name, cap, so_far in (
        ("this run", caps.run_usd, spent.run_usd),
        ("today", caps.day_usd, spent.day_usd),
    ):
        # Without a price for this call the dollars of others still count: a cap reached is reached.
        if so_far + (estimate.usd or 0.0) > cap:
            return Deferred(
                f"the call may cost ${estimate.usd or 0.0:.4f},"
                f" and ${so_far:.4f} of ${cap:.2f} of {name} are spent"
            )
    return Allowed(priced=estimate.usd is not None)


def left(caps: Caps, spent: Spent) -> Left:
    """What the caps still leave, never below nothing."""
    return Left(
        run_calls=max(0, caps.run_calls - spent.run_calls),
        run_tokens=max(0, caps.run_tokens - spent.run_tokens),
        day_tokens=max(0, caps.day_tokens - spent.day_tokens),
        run_usd=max(0.0, caps.run_usd - spent.run_usd),
        day_usd=max(0.0, caps.day_usd - spent.day_usd),
    )


def tokens_of(text: str) -> int:
    """How many tokens a text may have: a third of its bytes, rounded up."""
    return tokens_in(len(text.encode("utf-8", "surrogatepass")))


def tokens_in(size: int) -> int:
    """The same for a number of bytes."""
    return -(-size // BYTES_PER_TOKEN)
