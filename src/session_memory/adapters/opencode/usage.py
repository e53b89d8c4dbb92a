"""What an OpenCode response cost, as the step that ended it says."""

from __future__ import annotations

from session_memory.adapters.common import Json, as_count, as_object
from session_memory.core.schema import Usage

Record = dict[str, Json]


def usage_of(stated: Record, key: str, model: str, at: int | None) -> Usage | None:
    """The usage of a step, or of a message that has no steps; None where nothing was counted.

    A fork copies messages under new ids, so the key is made of what the copy keeps: when the
    message began, its model, and the figures themselves.
    """
    tokens = as_object(stated.get("tokens"))
    cache = as_object(tokens.get("cache"))
    fresh, said, thought = (as_count(tokens.get(name)) for name in ("input", "output", "reasoning"))
    read, written = as_count(cache.get("read")), as_count(cache.get("write"))
    if not (fresh or said or thought or read or written):
        return None
    cost = stated.get("cost")
    return Usage(
        key=f"{key}:{model}:{fresh}:{said}:{thought}:{read}:{written}",
        model=model,
        at=at,
        input=fresh,
        output=said + (thought if _is_apart(tokens, fresh + said + read + written) else 0),
        cache_read=read,
        cache_write_5m=written,
        reasoning=thought,
        # Subscriptions and models without a price are stated as 0: that is no statement.
        usd=float(cost) if isinstance(cost, int | float) and cost > 0 else None,
    )


def _is_apart(tokens: Record, without: int) -> bool:
    """Whether reasoning is not part of the output: that changed, and only the total shows it."""
    return as_count(tokens.get("total")) == without + as_count(tokens.get("reasoning"))
