"""Tokens by day and model, dollars by day: our store and ccusage on the same logs."""

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
CENT = 0.01
UNREAD_FILES = 3
"""How a sweep ends when some file could not be read: what it did read is still compared."""


class Counted(NamedTuple):
    """What one program says of the logs of a home."""

    tokens: Totals
    dollars: dict[str, float]
    """By day (UTC)."""
    unpriced: int = 0
    """Tokens that the dollars leave out."""


class Difference(NamedTuple):
    """A slot about which the two do not agree."""

    slot: Slot
    ours: Tokens
    theirs: Tokens


def of_ours(home: Path) -> Counted:
    """Sweep the logs of a home and ask the store."""
    sweep = [sys.executable, "-m", "session_memory", "sweep", "--json"]
    run(sweep, home, accepted=(0, UNREAD_FILES))
    totals: Totals = {}
    dollars: dict[str, float] = {}
    unpriced = 0
    with open_store(str(home / "session-memory" / "data"), 0, read_only=True) as store:
        for day in store.usage("day", None, None):
            dollars[day.group] = day.cost.usd or 0.0
            unpriced += day.unpriced_tokens
            start = _midnight(day.group)
            bounds = (None, None) if start is None else (start, start + DAY_MS)
            for row in store.usage("model", *bounds):
                cost = row.cost
                written = cost.cache_write_5m + cost.cache_write_1h
                found = Tokens(cost.input, cost.output, cost.cache_read, written)
                # ccusage appends the mode to the name of the model.
                totals[day.group, row.group.replace(" (", "-").rstrip(")")] = found
    return Counted(_spent(totals), dollars, unpriced)


def of_ccusage(command: Path, home: Path, flavor: str) -> Counted:
    """Ask ccusage for the same; the prices are those it ships with."""
    spent = run([str(command), flavor, "daily", "--json", "--offline", "--timezone", "UTC"], home)
    totals: Totals = {}
    dollars: dict[str, float] = {}
    for day in json.loads(spent.output)["daily"]:
        date = day.get("date") or day["period"]
        dollars[date] = day["costUSD"] if "costUSD" in day else day["totalCost"]
        for name, row in _models(day):
            found = Tokens(
                row["inputTokens"],
                row["outputTokens"],
                row["cacheReadTokens"],
                row["cacheCreationTokens"],
            )
            slot = (date, name.removeprefix("[pi] "))
            totals[slot] = totals.get(slot, Tokens()).plus(found)
    return Counted(_spent(totals), dollars)


def dollar_differences(
    ours: dict[str, float], theirs: dict[str, float]
) -> list[tuple[str, float, float]]:
    """Every day whose dollars differ by a cent or more, in order."""
    days = sorted(ours.keys() | theirs.keys())
    pairs = [(day, ours.get(day, 0.0), theirs.get(day, 0.0)) for day in days]
    return [each for each in pairs if abs(each[1] - each[2]) >= CENT]


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


def _spent(totals: Totals) -> Totals:
    """Without slots in which nothing was spent: one of the two may not list them."""
    return {slot: tokens for slot, tokens in totals.items() if any(tokens)}


def _models(day: dict[str, Any]) -> list[tuple[str, dict[str, int]]]:
    if "models" in day:
        return list(day["models"].items())
    return [(row["modelName"], row) for row in day["modelBreakdowns"]]


def _midnight(day: str) -> int | None:
    """The first millisecond of a day; None for responses without a time."""
    return parse_time(f"{day}T00:00:00Z")
