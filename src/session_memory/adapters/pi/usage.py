"""What a response cost by pi's own count: input is without what came from the cache."""

from __future__ import annotations

import math

from session_memory.adapters.common import Json, as_count, as_object, as_text
from session_memory.core.schema import Usage


def usage_of(message: dict[str, Json], name: str, at: int | None) -> Usage | None:
    """The usage stated by a message or entry; None where it states none, or only zeros.

    `name` distinguishes responses that have no id of their own. It must not be the entry's id: old
    files have none, and get some when pi opens them again. Tokens are part of the key, so that two
    sessions that answer in the same millisecond stay two.
    """
    usage = as_object(message.get("usage"))
    given, output = as_count(usage.get("input")), as_count(usage.get("output"))
    read, written = as_count(usage.get("cacheRead")), as_count(usage.get("cacheWrite"))
    if not (given or output or read or written):
        return None
    long = min(written, as_count(usage.get("cacheWrite1h")))
    model = as_text(message.get("model"))
    return Usage(
        key=as_text(message.get("responseId")) or f"{name}:{model}:{given}:{output}:{read}",
        model=model,
        at=at,
        input=given,
        output=output,
        cache_read=read,
        cache_write_5m=written - long,
        cache_write_1h=long,
        reasoning=min(output, as_count(usage.get("reasoning"))),
        usd=_dollars(as_object(usage.get("cost")).get("total")),
    )


def _dollars(value: Json) -> float | None:
    """A stated price. pi writes zero for models without a known price, so zero means unknown."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if math.isfinite(value) and value > 0 else None
