"""What flushes leave behind: records of the latest ones, and excerpts that could not be flushed.

The records recognise a hook that fired twice by session and content together. By session alone the
end of a session right after a compaction would be dropped, with everything said in between.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from pathlib import Path
from typing import cast

import msgspec

from session_memory.journal.excerpt import session_of
from session_memory.journal.files import Warn, load_json_with_recovery, save_json
from session_memory.journal.paths import JournalPaths

REPEAT_WINDOW_S = 60
MAX_RECORDS = 64
RETRIES_AT_ONCE = 2
COOLDOWN_MS = 6 * 3_600_000
MAX_RETRIES = 3


class FlushRecord(msgspec.Struct, frozen=True):
    """One flush: the session, the hash of its excerpt, when (Unix seconds), and how far it read."""

    session_id: str
    content: str
    timestamp: float
    upto: int | None = None


def read_flush_records(journal: JournalPaths, now_ms: int, warn: Warn) -> list[FlushRecord]:
    """The latest flushes, newest first; a damaged file is set aside."""
    rows: object = load_json_with_recovery(journal.flushed, {}, now_ms, warn).get("recent")
    records: list[FlushRecord] = []
    for row in cast("list[object]", rows) if isinstance(rows, list) else []:
        with contextlib.suppress(msgspec.ValidationError):
            records.append(msgspec.convert(row, FlushRecord))
    return records


def is_repeat(records: Iterable[FlushRecord], session: str, content: str, now_ms: int) -> bool:
    """Whether this content of this session was flushed less than a minute ago."""
    return any(
        record.session_id == session
        and record.content == content
        and 0 <= now_ms / 1000 - record.timestamp < REPEAT_WINDOW_S
        for record in records
    )


def flushed_until(records: Iterable[FlushRecord], session: str) -> int | None:
    """Up to what time a session has been flushed."""
    times = [
        record.upto
        for record in records
        if record.session_id == session and record.upto is not None
    ]
    return max(times, default=None)


def save_flush_record(
    journal: JournalPaths, record: FlushRecord, earlier: Iterable[FlushRecord]
) -> None:
    """Add a record; the last flush also stands at the top level, where other programs look."""
    others = [
        other
        for other in earlier
        if (other.session_id, other.content) != (record.session_id, record.content)
    ]
    rows = [record, *others][:MAX_RECORDS]
    last = {"session_id": record.session_id, "timestamp": record.timestamp}
    save_json(journal.flushed, {**last, "recent": msgspec.to_builtins(rows)})


class PendingExcerpt(msgspec.Struct, frozen=True):
    """An excerpt whose flush failed; `permanent` once too many retries have failed."""

    path: str
    session: str
    failed_at: int
    drains: int = 0
    permanent: bool = False
    error: str = ""


class PendingCounts(msgspec.Struct, frozen=True):
    """How many excerpts will be retried, and how many were given up."""

    pending: int
    permanent: int


def read_pending(journal: JournalPaths, now_ms: int, warn: Warn) -> list[PendingExcerpt]:
    """Every excerpt that was not flushed, oldest failure first.

    Includes what a killed flush left, by the age of its file. A row without its file is dropped.
    """
    rows: object = load_json_with_recovery(journal.pending, {}, now_ms, warn).get("contexts")
    by_path: dict[str, PendingExcerpt] = {}
    for row in cast("list[object]", rows) if isinstance(rows, list) else []:
        with contextlib.suppress(msgspec.ValidationError):
            excerpt = msgspec.convert(row, PendingExcerpt)
            by_path[excerpt.path] = excerpt
    for path in journal.excerpts.glob("*.md"):
        with contextlib.suppress(FileNotFoundError):
            written_at = int(path.stat().st_mtime * 1000)
            by_path.setdefault(str(path), PendingExcerpt(str(path), session_of(path), written_at))
    existing = [excerpt for excerpt in by_path.values() if Path(excerpt.path).is_file()]
    return sorted(existing, key=lambda excerpt: (excerpt.failed_at, excerpt.path))


def save_failure(
    journal: JournalPaths, failed: PendingExcerpt, pending: Iterable[PendingExcerpt], *, retry: bool
) -> None:
    """Keep an excerpt for later; only the newest one of each session is kept."""
    by_path = {excerpt.path: excerpt for excerpt in pending}
    drains = by_path[failed.path].drains if failed.path in by_path else 0
    drains += retry
    newest = msgspec.structs.replace(failed, drains=drains, permanent=drains >= MAX_RETRIES)
    by_path[newest.path] = newest
    for other in list(by_path.values()):
        if other.session == newest.session and other.path != newest.path:
            older, newest = sorted((other, newest), key=_written_at)
            by_path.pop(older.path, None)
            Path(older.path).unlink(missing_ok=True)
    save_pending(journal, by_path.values())


def remove_pending(journal: JournalPaths, path: str, pending: Iterable[PendingExcerpt]) -> None:
    """Take an excerpt off the list."""
    excerpts = list(pending)
    others = [excerpt for excerpt in excerpts if excerpt.path != path]
    if len(others) != len(excerpts):
        save_pending(journal, others)


def save_pending(journal: JournalPaths, pending: Iterable[PendingExcerpt]) -> None:
    """Replace the list of excerpts to retry."""
    save_json(journal.pending, {"contexts": msgspec.to_builtins(list(pending))})


def due_for_retry(pending: Iterable[PendingExcerpt], now_ms: int) -> list[PendingExcerpt]:
    """The few to retry after a successful flush: cooled down, and not given up."""
    ready = [
        excerpt
        for excerpt in pending
        if not excerpt.permanent and now_ms - excerpt.failed_at >= COOLDOWN_MS
    ]
    return ready[:RETRIES_AT_ONCE]


def count_pending(pending: Iterable[PendingExcerpt]) -> PendingCounts:
    """How many will be retried, and how many only on request."""
    excerpts = list(pending)
    permanent = sum(excerpt.permanent for excerpt in excerpts)
    return PendingCounts(len(excerpts) - permanent, permanent)


def _written_at(excerpt: PendingExcerpt) -> float:
    """When the excerpt itself was written; the time of a failure says nothing about its content."""
    with contextlib.suppress(FileNotFoundError):
        return Path(excerpt.path).stat().st_mtime_ns
    return 0
