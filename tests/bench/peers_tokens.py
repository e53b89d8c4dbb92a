"""Token totals by day and model: what our store says beside what ccusage says of the same logs."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any, NamedTuple

from tests.bench.peers_process import run

from session_memory.adapters.common import parse_time
from session_memory.store import open_store

DAY_MS = 86_400_000
Slot = tuple[str, str]
"""(day in UTC, model)."""


class Tokens(NamedTuple):
    """Billed tokens of one slot; cached input is not part of input."""

    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0

    def plus(self, other: Tokens) -> Tokens:
        """Both together."""
        return Tokens(*(a + b for a, b in zip(self, other, strict=True)))


Totals = dict[Slot, Tokens]


class Difference(NamedTuple):
    """A slot about which the two do not agree."""

    slot: Slot
    ours: Tokens
    theirs: Tokens


def of_ours(home: Path) -> Totals:
    """Sweep the logs of a home and ask the store."""
    run([sys.executable, "-m", "session_memory", "sweep", "--json"], home)
    totals: Totals = {}
    with open_store(str(home / "session-memory" / "data"), 0, read_only=True) as store:
        for day in store.usage("day", None, None):
            start = _midnight(day.group)
            bounds = (None, None) if start is None else (start, start + DAY_MS)
            for row in store.usage("model", *bounds):
                cost = row.cost
                written = cost.cache_write_5m + cost.cache_write_1h
                found = Tokens(cost.input, cost.output, cost.cache_read, written)
                # ccusage appends the mode to the name of the model.
                totals[day.group, row.group.replace(" (", "-").rstrip(")")] = found
    return _told(totals)


def of_ccusage(command: Path, home: Path, flavor: str) -> Totals:
    """Ask ccusage for the same; it needs no network, and no prices here."""
    spent = run([str(command), flavor, "daily", "--json", "--offline", "--timezone", "UTC"], home)
    totals: Totals = {}
    for day in json.loads(spent.output)["daily"]:
        for name, row in _models(day):
            found = Tokens(
                row["inputTokens"],
                row["outputTokens"],
                row["cacheReadTokens"],
                row["cacheCreationTokens"],
            )
            slot = (day["date"], name)
            totals[slot] = totals.get(slot, Tokens()).plus(found)
    return _told(totals)


def differences(ours: Totals, theirs: Totals) -> list[Difference]:
    """Every slot where the two differ, in order."""
    none = Tokens()
    return [
        Difference(slot, ours.get(slot, none), theirs.get(slot, none))
        for slot in sorted(ours.keys() | theirs.keys())
        if ours.get(slot, none) != theirs.get(slot, none)
    ]


def whole(totals: Totals) -> int:
    """All tokens of all slots."""
    return sum(sum(tokens) for tokens in totals.values())


def _told(totals: Totals) -> Totals:
    """Without slots in which nothing was spent: one of the two may not list them."""
    return {slot: tokens for slot, tokens in totals.items() if any(tokens)}


def _models(day: dict[str, Any]) -> list[tuple[str, dict[str, int]]]:
    if "models" in day:
        return list(day["models"].items())
    return [(row["modelName"], row) for row in day["modelBreakdowns"]]


def _midnight(day: str) -> int | None:
    """The first millisecond of a day; None for responses without a time."""
    return parse_time(f"{day}T00:00:00Z")
