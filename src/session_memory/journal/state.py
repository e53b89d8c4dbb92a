"""state.json: which logs were compiled, when and at what cost; questions asked; the last lint."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any, cast

import msgspec

from session_memory.journal.files import Warn, load_json_with_recovery
from session_memory.journal.gate import log_hash
from session_memory.journal.paths import Place


class State(msgspec.Struct, frozen=True):
    """The file as a value; keys of others are kept in `rest`."""

    ingested: dict[str, dict[str, Any]] = {}
    query_count: int = 0
    last_lint: str | None = None
    total_cost: float = 0.0
    rest: dict[str, Any] = {}

    def text(self) -> str:
        """The file."""
        known = {
            "ingested": self.ingested,
            "query_count": self.query_count,
            "last_lint": self.last_lint,
            "total_cost": self.total_cost,
        }
        data = msgspec.json.encode({**known, **self.rest})
        return msgspec.json.format(data, indent=2).decode() + "\n"


def read_state(place: Place, now_ms: int, warn: Warn) -> State:
    """What the file says; whatever makes no sense in it counts as not there."""
    found = load_json_with_recovery(place.state, {}, now_ms, warn)
    ingested: object = found.pop("ingested", {})
    count, lint = found.pop("query_count", 0), found.pop("last_lint", None)
    cost = found.pop("total_cost", 0.0)
    rows = cast("dict[str, object]", ingested) if isinstance(ingested, dict) else {}
    return State(
        {name: cast("dict[str, Any]", row) for name, row in rows.items() if isinstance(row, dict)},
        count if isinstance(count, int) else 0,
        lint if isinstance(lint, str) else None,
        float(cost) if isinstance(cost, int | float) else 0.0,
        found,
    )


def compiled(state: State, name: str, data: bytes, now_ms: int, cost: float) -> State:
    """The state after the compile of exactly these bytes of a log."""
    before: object = state.ingested.get(name, {}).get("cost_usd", 0.0)
    spent = round(cost + (float(before) if isinstance(before, int | float) else 0.0), 6)
    row = {
        "hash": log_hash(data),
        "size": len(data),
        "compiled_at": iso_local(now_ms),
        "cost_usd": spent,
    }
    return msgspec.structs.replace(
        state,
        ingested={**state.ingested, name: row},
        total_cost=round(state.total_cost + cost, 6),
    )


def without_days(state: State, names: Iterable[str]) -> State:
    """The state in which those logs were never compiled, so that they are compiled whole."""
    gone = set(names)
    left = {name: row for name, row in state.ingested.items() if name not in gone}
    return msgspec.structs.replace(state, ingested=left)


def compiled_length(state: State, name: str, data: bytes) -> int | None:
    """How much of a log was compiled, if that is still how it begins; None after an edit."""
    row = state.ingested.get(name, {})
    size: object = row.get("size")
    if not isinstance(size, int) or not 0 < size <= len(data):
        return None
    return size if log_hash(data[:size]) == row.get("hash") else None


def iso_local(now_ms: int) -> str:
    """A moment in the user's own time, with its zone."""
    return datetime.fromtimestamp(now_ms / 1000).astimezone().isoformat(timespec="seconds")
