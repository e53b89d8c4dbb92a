"""Contexts that could not be flushed: kept, tried again, and put out of the way when hopeless."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from pathlib import Path
from typing import cast

import msgspec

from session_memory.journal.context import session_of
from session_memory.journal.files import Warn, load_json_with_recovery, save_json
from session_memory.journal.paths import Place

DRAIN_MAX = 2
COOLDOWN_MS = 6 * 3_600_000
MAX_DRAINS = 3


class Waiting(msgspec.Struct, frozen=True):
    """A context that waits for a better time; `permanent` once it was drained in vain too often."""

    path: str
    session: str
    failed_at: int
    drains: int = 0
    permanent: bool = False
    error: str = ""


class Counts(msgspec.Struct, frozen=True):
    """How many contexts wait, and how many were given up."""

    pending: int
    permanent: int


def read_waiting(place: Place, now_ms: int, warn: Warn) -> list[Waiting]:
    """Every context that waits, oldest failure first; those of a killed flush count from their age.

    A note whose context has gone is dropped.
    """
    rows: object = load_json_with_recovery(place.pending, {}, now_ms, warn).get("contexts")
    noted: dict[str, Waiting] = {}
    for row in cast("list[object]", rows) if isinstance(rows, list) else []:
        with contextlib.suppress(msgspec.ValidationError):
            waiting = msgspec.convert(row, Waiting)
            noted[waiting.path] = waiting
    for path in place.contexts.glob("*.md"):
        with contextlib.suppress(FileNotFoundError):
            left_at = int(path.stat().st_mtime * 1000)
            noted.setdefault(str(path), Waiting(str(path), session_of(path), left_at))
    found = [waiting for waiting in noted.values() if Path(waiting.path).is_file()]
    return sorted(found, key=lambda waiting: (waiting.failed_at, waiting.path))


def note_failure(place: Place, failed: Waiting, known: Iterable[Waiting], *, drained: bool) -> None:
    """Keep a context for later; of each session only the newest copy is kept."""
    before = {waiting.path: waiting for waiting in known}
    drains = before[failed.path].drains if failed.path in before else 0
    drains += drained
    fresh = msgspec.structs.replace(failed, drains=drains, permanent=drains >= MAX_DRAINS)
    kept = {**before, fresh.path: fresh}
    for older in list(kept.values()):
        if older.session == fresh.session and older.path != fresh.path:
            newest = max(fresh, older, key=_age)
            dropped = fresh if newest is older else older
            kept.pop(dropped.path, None)
            Path(dropped.path).unlink(missing_ok=True)
            fresh = newest
    _save(place, kept.values())


def settle(place: Place, path: str, known: Iterable[Waiting]) -> None:
    """Strike a context off the list."""
    rows = list(known)
    left = [waiting for waiting in rows if waiting.path != path]
    if len(left) != len(rows):
        _save(place, left)


def due(waiting: Iterable[Waiting], now_ms: int) -> list[Waiting]:
    """The few to try again after a success: cooled down, and not given up."""
    ready = [one for one in waiting if not one.permanent and now_ms - one.failed_at >= COOLDOWN_MS]
    return ready[:DRAIN_MAX]


def counts(waiting: Iterable[Waiting]) -> Counts:
    """For health: what waits, and what nobody will try again unasked."""
    rows = list(waiting)
    permanent = sum(one.permanent for one in rows)
    return Counts(len(rows) - permanent, permanent)


def _age(waiting: Waiting) -> float:
    """When the context itself was made: its failures say nothing about its content."""
    with contextlib.suppress(FileNotFoundError):
        return Path(waiting.path).stat().st_mtime_ns
    return 0


def _save(place: Place, rows: Iterable[Waiting]) -> None:
    save_json(place.pending, {"contexts": msgspec.to_builtins(list(rows))})
