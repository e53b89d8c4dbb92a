"""Whether a compile is worth its money: which daily logs changed, and how long ago they were read.

Pure: logs, the state of the last compiles and the time come in, file names and remarks come out.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any, cast

import msgspec

from session_memory.journal.daily import has_substance, without_last_maintenance

INTERVAL_VARIABLE = "MEMORIA_COMPILE_INTERVAL_MIN"
_MINUTE_S = 60


class DayLog(msgspec.Struct, frozen=True):
    """A daily log as it lies on the disk."""

    name: str
    data: bytes


class Verdict(msgspec.Struct, frozen=True):
    """Logs to compile, oldest first, and what to say about the decision."""

    files: tuple[str, ...] = ()
    infos: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


def log_hash(data: bytes) -> str:
    """What a log is recognised by in state.json."""
    return hashlib.sha256(data).hexdigest()[:16]


def compile_interval(environ: Mapping[str, str], configured: int) -> tuple[int, str | None]:
    """Minutes between compiles of one log, and a warning where the variable makes no sense."""
    stated = environ.get(INTERVAL_VARIABLE)
    if stated is None:
        return configured, None
    if stated.strip().isdecimal() and len(stated.strip()) < 10:
        return int(stated), None
    return configured, f"{INTERVAL_VARIABLE} is not a number of minutes; using {configured}"


def decide(
    logs: Iterable[DayLog], state: Mapping[str, Any], today: str, now_ms: int, interval_min: int
) -> Verdict:
    """Which logs are due. Today's waits for the interval; a past day grows no more, so it does not.

    A damaged state counts as "never compiled": a compile too many costs less than one too few.
    """
    ingested: object = state.get("ingested")
    known = cast("dict[str, object]", ingested) if isinstance(ingested, dict) else {}
    files: list[str] = []
    infos: list[str] = []
    warnings: list[str] = []
    for log in sorted(logs, key=lambda log: log.name):
        entry = known.get(log.name)
        record = cast("dict[str, object]", entry) if isinstance(entry, dict) else {}
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
    return Verdict(tuple(files), tuple(infos), tuple(warnings))


def _is_changed(data: bytes, compiled: object) -> bool:
    """Whether a log says something that was not compiled.

    Entries that say "nothing worth saving" are peeled off its end: what is left is then the log
    that was compiled, or nothing.
    """
    if log_hash(data) == compiled:
        return False
    text = data.decode("utf-8", "surrogateescape")
    if not has_substance(text):
        return False
    while (text := without_last_maintenance(text) or "") != "":
        if log_hash(text.encode("utf-8", "surrogateescape")) == compiled:
            return False
    return True


def _minutes_since(compiled_at: object, now_ms: int) -> float | None:
    """Minutes since a time as state.json states it; one without a zone is the user's own."""
    try:
        moment = datetime.fromisoformat(cast(str, compiled_at))
        return (now_ms / 1000 - moment.timestamp()) / _MINUTE_S
    except (TypeError, ValueError, OverflowError, OSError):
        return None
