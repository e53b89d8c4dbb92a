"""state.json: what was compiled, when and at what cost; and from that, which logs are due.

What is due is decided by pure functions: logs, state and time in, file names and messages out.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any, cast

import msgspec

from session_memory.journal.daily import days, has_substance, without_last_maintenance
from session_memory.journal.files import Warn, load_json_with_recovery
from session_memory.journal.paths import JournalPaths

INTERVAL_VARIABLE = "MEMORIA_COMPILE_INTERVAL_MIN"


class State(msgspec.Struct, frozen=True):
    """The file as a value; keys written by other programs are kept in `rest`."""

    ingested: dict[str, dict[str, Any]] = {}
    query_count: int = 0
    last_lint: str | None = None
    total_cost: float = 0.0
    rest: dict[str, Any] = {}

    def text(self) -> str:
        """The content of the file."""
        ours = {
            "ingested": self.ingested,
            "query_count": self.query_count,
            "last_lint": self.last_lint,
            "total_cost": self.total_cost,
        }
        data = msgspec.json.encode({**ours, **self.rest})
        return msgspec.json.format(data, indent=2).decode() + "\n"


def read_state(journal: JournalPaths, now_ms: int, warn: Warn) -> State:
    """The content of the file; values of a wrong type count as missing."""
    values = load_json_with_recovery(journal.state, {}, now_ms, warn)
    ingested: object = values.pop("ingested", {})
    count, lint = values.pop("query_count", 0), values.pop("last_lint", None)
    cost = values.pop("total_cost", 0.0)
    rows = cast("dict[str, object]", ingested) if isinstance(ingested, dict) else {}
    return State(
        {name: cast("dict[str, Any]", row) for name, row in rows.items() if isinstance(row, dict)},
        count if isinstance(count, int) else 0,
        lint if isinstance(lint, str) else None,
        float(cost) if isinstance(cost, int | float) else 0.0,
        values,
    )


def with_compiled(state: State, name: str, data: bytes, now_ms: int, cost: float) -> State:
    """The state after exactly these bytes of a log were compiled."""
    before: object = state.ingested.get(name, {}).get("cost_usd", 0.0)
    total = round(cost + (float(before) if isinstance(before, int | float) else 0.0), 6)
    row = {
        "hash": log_hash(data),
        "size": len(data),
        "compiled_at": iso_local(now_ms),
        "cost_usd": total,
    }
    return msgspec.structs.replace(
        state,
        ingested={**state.ingested, name: row},
        total_cost=round(state.total_cost + cost, 6),
    )


def without_days(state: State, names: Iterable[str]) -> State:
    """The state as if those logs were never compiled, so that they are compiled again in full."""
    removed = set(names)
    ingested = {name: row for name, row in state.ingested.items() if name not in removed}
    return msgspec.structs.replace(state, ingested=ingested)


def compiled_length(state: State, name: str, data: bytes) -> int | None:
    """How much of a log was compiled; None if it was edited since, or never compiled."""
    row = state.ingested.get(name, {})
    size: object = row.get("size")
    if not isinstance(size, int) or not 0 < size <= len(data):
        return None
    return size if log_hash(data[:size]) == row.get("hash") else None


def iso_local(now_ms: int) -> str:
    """A point in time as local time with its zone."""
    return datetime.fromtimestamp(now_ms / 1000).astimezone().isoformat(timespec="seconds")


def log_hash(data: bytes) -> str:
    """What identifies a version of a log in state.json."""
    return hashlib.sha256(data).hexdigest()[:16]


class DayLog(msgspec.Struct, frozen=True):
    """A daily log as it is on disk."""

    name: str
    data: bytes


class DueLogs(msgspec.Struct, frozen=True):
    """Logs to compile, oldest first, and messages about the decision."""

    files: tuple[str, ...] = ()
    infos: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


def read_day_logs(journal: JournalPaths) -> list[DayLog]:
    """Every daily log."""
    return [DayLog(path.name, path.read_bytes()) for path in days(journal)]


def pending_logs(journal: JournalPaths, now_ms: int, warn: Warn) -> list[str]:
    """Logs with something that is not compiled, oldest first."""
    state = read_state(journal, now_ms, warn)
    return list(due_logs(read_day_logs(journal), {"ingested": state.ingested}, "", now_ms, 0).files)


def compile_interval(environ: Mapping[str, str], configured: int) -> tuple[int, str | None]:
    """Minutes between compiles of one log, and a warning if the variable is not a number."""
    value = environ.get(INTERVAL_VARIABLE)
    if value is None:
        return configured, None
    if value.strip().isdecimal() and len(value.strip()) < 10:
        return int(value), None
    return configured, f"{INTERVAL_VARIABLE} is not a number of minutes; using {configured}"


def due_logs(
    logs: Iterable[DayLog], state: Mapping[str, Any], today: str, now_ms: int, interval_min: int
) -> DueLogs:
    """Which logs are due. Today's log waits for the interval; past days no longer grow.

    A damaged state counts as "never compiled": one compile too many is better than one too few.
    """
    ingested: object = state.get("ingested")
    rows = cast("dict[str, object]", ingested) if isinstance(ingested, dict) else {}
    files: list[str] = []
    infos: list[str] = []
    warnings: list[str] = []
    for log in sorted(logs, key=lambda log: log.name):
        row = rows.get(log.name)
        record = cast("dict[str, object]", row) if isinstance(row, dict) else {}
        if not _is_changed(log.data, record.get("hash")):
            continue
        if log.name == f"{today}.md" and "compiled_at" in record:
            minutes = _minutes_since(record["compiled_at"], now_ms)
            if minutes is None:
                warnings.append(f"compiled_at of {log.name} cannot be read; compiling")
            elif 0 <= minutes < interval_min:
                infos.append(
                    f"Compile skipped: {log.name} was compiled {int(minutes)} min ago"
                    f" (threshold {interval_min} min)"
                )
                continue
        files.append(log.name)
    return DueLogs(tuple(files), tuple(infos), tuple(warnings))


def _is_changed(data: bytes, compiled_hash: object) -> bool:
    """Whether a log has something that was not compiled.

    Entries that only say "nothing worth saving" are stripped from its end before comparing.
    """
    if log_hash(data) == compiled_hash:
        return False
    text = data.decode("utf-8", "surrogateescape")
    if not has_substance(text):
        return False
    while (text := without_last_maintenance(text) or "") != "":
        if log_hash(text.encode("utf-8", "surrogateescape")) == compiled_hash:
            return False
    return True


def _minutes_since(compiled_at: object, now_ms: int) -> float | None:
    """Minutes since a time in state.json; one without a zone is local."""
    try:
        moment = datetime.fromisoformat(cast(str, compiled_at))
        return (now_ms / 1000 - moment.timestamp()) / 60
    except (TypeError, ValueError, OverflowError, OSError):
        return None
