"""What a Grok Build turn cost, by model."""

from __future__ import annotations

from session_memory.adapters.common import Json, as_count, as_object, as_text
from session_memory.core.schema import Usage

TICKS_PER_USD = 10_000_000_000


def usages_of(update: dict[str, Json], at: int | None, model: str) -> list[Usage]:
    """The usages of a `turn_completed`; none where it states none, which is not the same as zero.

    The key is the prompt's own id, which a fork keeps in its copy of the turn.
    """
    usage = as_object(update.get("usage"))
    prompt = as_text(update.get("prompt_id"))
    if not usage or not prompt:
        return []
    by_model = as_object(usage.get("modelUsage"))
    if len(by_model) > 1:
        usages = [
            _usage(f"{prompt}:{name}", name, at, as_object(row)) for name, row in by_model.items()
        ]
    else:  # the total says the same, and its price is there more often
        usages = [_usage(prompt, next(iter(by_model), model), at, usage)]
    return [
        usage
        for usage in usages
        if usage.input or usage.output or usage.cache_read or usage.cache_write_5m
    ]


def _usage(key: str, model: str, at: int | None, row: dict[str, Json]) -> Usage:
    read, written = as_count(row.get("cachedReadTokens")), as_count(row.get("cacheCreationTokens"))
    ticks = None if row.get("costIsPartial") is True else row.get("costUsdTicks")
    return Usage(
        key=key,
        model=model,
        at=at,
        input=max(0, as_count(row.get("inputTokens")) - read - written),
        output=as_count(row.get("outputTokens")),
        cache_read=read,
        cache_write_5m=written,
        reasoning=as_count(row.get("reasoningTokens")),
        usd=ticks / TICKS_PER_USD if isinstance(ticks, int) and ticks >= 0 else None,
    )
