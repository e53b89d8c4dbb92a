"""What Copilot CLI says a response, or a whole session, cost; its input holds the cached part."""

from __future__ import annotations

from session_memory.adapters.common import Json, as_object, as_text
from session_memory.core.schema import Usage

Record = dict[str, Json]


def record_usage(usage: Record, fallback: str, at: int | None, *, by_agent: bool) -> Usage | None:
    """The usage of one response, by the id under which the service counts it."""
    key = as_text(as_object(usage.get("accounting")).get("usageId"))
    key = key or as_text(usage.get("apiCallId")) or fallback
    return _usage(key, as_text(usage.get("model")), at, usage, by_agent=by_agent)


def shutdown_usages(data: Record, session: str, at: int | None) -> list[Usage]:
    """The totals by model that a session ends with.

    They go on counting when a session is resumed, and keep the time it began at: so they share a
    key, and the fullest counts.
    """
    began = data.get("sessionStartTime")
    usages: list[Usage] = []
    for model, metrics in as_object(data.get("modelMetrics")).items():
        usage = _usage(
            f"{session}:{began}:{model}", model, at, as_object(as_object(metrics).get("usage"))
        )
        if usage is not None:
            usages.append(usage)
    return usages


def running_usage(written: dict[str, int], model: str, key: str, at: int | None) -> Usage:
    """What messages stated of a model so far; the totals at the end, if there are any, replace it.

    A session that was not shut down states nothing but the tokens its messages have.
    """
    return Usage(key=f"{key}:{model}", model=model, at=at, output=written[model])


def compaction_usage(data: Record, fallback: str, at: int | None, model: str) -> Usage | None:
    """What condensing the context cost: it has no record of its own."""
    used = as_object(data.get("compactionTokensUsed"))
    key = as_text(data.get("compactionAttemptId")) or fallback
    return _usage(f"compaction:{key}", as_text(used.get("model")) or model, at, used)


def _usage(
    key: str, model: str, at: int | None, row: Record, *, by_agent: bool = False
) -> Usage | None:
    """None where all counts are zero: a failed or unmetered call states nothing."""
    given, output = _count(row.get("inputTokens")), _count(row.get("outputTokens"))
    read, written = _count(row.get("cacheReadTokens")), _count(row.get("cacheWriteTokens"))
    if not (given or output or read or written):
        return None
    return Usage(
        key=key,
        model=model,
        at=at,
        input=max(0, given - read - written),
        output=output,
        cache_read=read,
        cache_write_5m=written,
        reasoning=min(output, _count(row.get("reasoningTokens"))),
        sidechain=by_agent,
    )


def _count(value: Json) -> int:
    """A token count, which Copilot may write as 12.0; anything else counts as zero."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return 0
    return int(value) if 0 <= value < 1 << 53 else 0
