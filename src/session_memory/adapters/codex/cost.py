"""What each response of a Codex thread cost, from exact records or from cumulative counts."""

from __future__ import annotations

from operator import sub

from session_memory.adapters.codex.records import Record
from session_memory.adapters.codex.state import TOKEN_PARTS, ReaderState
from session_memory.adapters.common import Json, as_count, as_object, as_text
from session_memory.core.schema import Usage

_PARTS = (
    "input_tokens",
    "cached_input_tokens",
    "output_tokens",
    "reasoning_output_tokens",
    "total_tokens",
)


def usage_record(payload: Record, at: int | None, state: ReaderState) -> Usage | None:
    """The exact cost of one response; it wins over the counts that follow in the same turn."""
    spent = _parts(payload.get("usage"))
    whole = _parts(payload.get("thread_token_usage"))
    if whole is None and spent is not None and state.totals is not None:
        whole = [a + b for a, b in zip(state.totals, spent, strict=True)]
    state.totals = whole or state.totals
    state.recorded = True
    response = as_text(payload.get("response_id"))
    if spent is None or not response:
        return None
    return _usage(response, spent, at, state)


def token_count(counts: Json, at: int | None, state: ReaderState) -> Usage | None:
    """The step from the last cumulative count to this one; a repeated count adds nothing."""
    info = as_object(counts)
    stated = info.get("last_token_usage")
    total = _parts(info.get("total_token_usage"))
    if total is None and (last := _parts(stated)):  # a log that states single responses only
        total = [a + b for a, b in zip(state.totals or [0] * TOKEN_PARTS, last, strict=True)]
    if total is None or not any(total[:-1]):  # a window size in the place of a count
        return None
    before, state.totals = state.totals, total
    answered, state.answered = state.answered, False
    if state.recorded:
        return None
    spent = _step(before, total, stated, answered)
    if not any(spent[:-1]):
        return None
    key = ":".join([state.lineage.owner, *map(str, total)])
    return _usage(key, spent, at, state, as_text(info.get("model")))


def _step(before: list[int] | None, total: list[int], stated: Json, answered: bool) -> list[int]:
    """What was spent since `before`.

    A fork that only points at its parent starts from counts we do not have, and a count that goes
    down has lost its start: in both cases the response says itself what it cost.
    """
    if before is None:
        return (_parts(stated) if answered else None) or [0] * TOKEN_PARTS
    step = list(map(sub, total, before))
    if min(step[:-1]) >= 0:
        return step
    last = _parts(stated)
    return last if last and all(a <= b for a, b in zip(last, total, strict=True)) else total


def _usage(
    key: str, spent: list[int], at: int | None, state: ReaderState, model: str = ""
) -> Usage | None:
    given, cached, output, reasoning, _ = spent
    return Usage(
        key=key,
        model=model or state.model,
        at=at,
        input=max(0, given - cached),  # Codex counts what it read from the cache as input too
        output=output,
        cache_read=cached,
        reasoning=reasoning,
        sidechain=state.by_agent,
        mode=state.mode,
    )


def _parts(value: Json) -> list[int] | None:
    fields = as_object(value)
    return [as_count(fields.get(name)) for name in _PARTS] if fields else None
