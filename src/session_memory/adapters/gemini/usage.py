"""What one response of a Gemini-shaped API cost, in the buckets all flavours share."""

from __future__ import annotations

import msgspec

from session_memory.adapters.common import Json, as_count
from session_memory.core.schema import Usage


class Tokens(msgspec.Struct, frozen=True):
    """A response's own figures: `input` includes `cached`."""

    input: int = 0
    output: int = 0
    cached: int = 0
    thoughts: int = 0
    tool: int = 0
    total: int = 0

    def spent(self) -> bool:
        """False where the log holds a place for figures that never came."""
        return bool(self.input or self.output or self.thoughts)


def tokens_of(row: dict[str, Json], names: tuple[str, str, str, str, str, str]) -> Tokens:
    """The figures of a record that calls them `names`, in the order of `Tokens`."""
    return Tokens(*(as_count(row.get(name)) for name in names))


def usage_of(key: str, model: str, at: int | None, tokens: Tokens, *, sidechain: bool) -> Usage:
    """Billed tokens: thoughts are output, what a built-in tool read is input.

    Servers behind an OpenAI-like interface count thoughts in the output already; the total shows.
    """
    plain = tokens.input + tokens.output
    apart = not tokens.total or tokens.total >= plain + tokens.thoughts
    thoughts = tokens.thoughts if apart else 0
    tool = min(tokens.tool, max(0, tokens.total - plain - thoughts))
    return Usage(
        key=key,
        model=model,
        at=at,
        input=max(0, tokens.input - tokens.cached) + tool,
        output=tokens.output + thoughts,
        cache_read=min(tokens.cached, tokens.input),
        reasoning=tokens.thoughts,
        sidechain=sidechain,
    )
