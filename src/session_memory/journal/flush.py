"""Makes an entry of the day's log out of a session's excerpt: exactly once, and never losing it.

Both `python -m session_memory.journal.flush CONTEXT_FILE SESSION_ID` and the worker run this. The
order of the steps allows a repeat after a crash between any two of them: append the entry, record
the flush, delete the excerpt, then perhaps compile.
"""

from __future__ import annotations

import hashlib
import os
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Literal

import msgspec

from session_memory.clock import Clock, local_date
from session_memory.errors import BudgetSpent
from session_memory.journal import daily, flush_records
from session_memory.journal.excerpt import content_hash
from session_memory.journal.files import file_lock, load_json_with_recovery, remove_leftovers
from session_memory.journal.log import FlushLog
from session_memory.journal.model_entry import (
    ERROR,
    OK,
    RetryPolicy,
    WriteEntry,
    write_with_retries,
)
from session_memory.journal.paths import JournalPaths
from session_memory.journal.state import compile_interval, due_logs, read_day_logs

GUARD = {"CLAUDE_INVOKED_BY": "memory_flush", "SESSION_MEMORY_INTERNAL": "1"}
"""Hooks of an agent that we start see these and do nothing; else its end would flush again."""

Outcome = Literal["missing", "empty", "duplicate", "saved", "nothing", "failed"]
Compile = Callable[[tuple[str, ...]], None]


class FlushContext(msgspec.Struct, frozen=True):
    """What a flush of one journal needs."""

    journal: JournalPaths
    clock: Clock
    write: WriteEntry
    clean: Callable[[str], str]
    """Removes secrets from what a model or a log line says."""
    compile: Compile | None = None
    """Starts a compile of logs; None if there is no program for it."""
    read_until: Callable[[str], int | None] = lambda _session: None
    """Up to what time a session was read; recorded with the flush."""
    ended_at: Callable[[str], int | None] = lambda _session: None
    """When a session last spoke; its entry gets that time, however late it is flushed."""
    sleep: Callable[[float], None] = time.sleep
    retries: RetryPolicy = RetryPolicy()
    interval_min: int = 60
    environ: Mapping[str, str] = {}

    @property
    def log(self) -> FlushLog:
        """flush.log of this journal."""
        return FlushLog(self.journal.flush_log, self.clock, self.clean)


def guard() -> None:
    """Mark this process and its children as ours; call it before anything can start an agent."""
    os.environ.update(GUARD)


def flush(path: Path, session: str, context: FlushContext) -> Outcome:
    """Flush one excerpt, then retry a few that failed before, then compile if that is due."""
    log = context.log
    log.info(f"flush started for session {session}, context: {path}")
    with file_lock(context.journal.lock("flush"), "a flush"):
        remove_leftovers(context.journal.daily, context.journal.work)
        outcome = _flush_excerpt(path, session, context)
        if outcome in ("saved", "nothing"):
            _retry(flush_records.due_for_retry(_pending(context), context.clock()), context)
            _compile_if_due(context)
            log.info(f"Flush complete for session {session}")
    return outcome


def retry_failed(context: FlushContext, *, permanent: bool = False) -> dict[str, Outcome]:
    """Retry every pending excerpt now, given-up ones only with `permanent`; outcomes by path."""
    with file_lock(context.journal.lock("flush"), "a flush"):
        excerpts = [excerpt for excerpt in _pending(context) if permanent or not excerpt.permanent]
        outcomes = _retry(excerpts, context)
        if any(outcome in ("saved", "nothing") for outcome in outcomes.values()):
            _compile_if_due(context)
    return outcomes


def _pending(context: FlushContext) -> list[flush_records.PendingExcerpt]:
    return flush_records.read_pending(context.journal, context.clock(), context.log.warning)


def _retry(
    excerpts: list[flush_records.PendingExcerpt], context: FlushContext
) -> dict[str, Outcome]:
    outcomes: dict[str, Outcome] = {}
    for excerpt in excerpts:
        path = Path(excerpt.path)
        if path.is_file():  # another excerpt of the same session may have replaced it
            context.log.info(f"Trying again: session {excerpt.session}, context: {path}")
            outcomes[excerpt.path] = _flush_excerpt(path, excerpt.session, context, retry=True)
    return outcomes


class _Excerpt(msgspec.Struct, frozen=True):
    """An excerpt as it was read."""

    path: Path
    session: str
    text: str
    content: str
    """Hash of the text."""


class _Failure(msgspec.Struct, frozen=True):
    """No entry could be made."""

    deferred: bool
    """The budget does not allow it now; that does not count against the excerpt."""


def _flush_excerpt(
    path: Path, session: str, context: FlushContext, *, retry: bool = False
) -> Outcome:
    log, now = context.log, context.clock()
    try:
        text = path.read_bytes().decode("utf-8", "replace")
    except FileNotFoundError:
        log.error(f"Context file not found: {path}")
        return "missing"
    if not text.strip():
        log.info("Context file is empty, skipping")
        _discard(path, context)
        return "empty"
    excerpt = _Excerpt(path, session, text, content_hash(text))
    if flush_records.is_repeat(_flush_records(context), session, excerpt.content, now):
        log.info(f"Skipping duplicate flush for session {session}")
        _discard(path, context)
        return "duplicate"
    log.info(f"Flushing session {session}: {len(text)} chars")
    entry = _save_entry(excerpt, context)
    if isinstance(entry, _Failure):
        failed = flush_records.PendingExcerpt(str(path.absolute()), session, context.clock())
        counts = retry and not entry.deferred
        flush_records.save_failure(context.journal, failed, _pending(context), retry=counts)
        return "failed"
    record = flush_records.FlushRecord(
        session, excerpt.content, context.clock() / 1000, context.read_until(session)
    )
    flush_records.save_flush_record(context.journal, record, _flush_records(context))
    _discard(path, context)
    return "nothing" if entry.section == daily.MAINTENANCE else "saved"


def _save_entry(excerpt: _Excerpt, context: FlushContext) -> daily.Entry | _Failure:
    """Make an entry and append it, unless an interrupted run has appended it already."""
    key = _entry_key(excerpt, context.journal)
    saved = daily.find_entry(context.journal, key)
    if saved is not None:
        context.log.info("Result: saved by an earlier run that was cut off")
        return saved
    entry = _make_entry(excerpt, key, context)
    if isinstance(entry, daily.Entry):
        now = context.clock()
        spoken_at = min(now, context.ended_at(excerpt.session) or now)
        daily.append_entry(context.journal, entry, spoken_at)
    return entry


def _make_entry(excerpt: _Excerpt, key: str, context: FlushContext) -> daily.Entry | _Failure:
    """What goes into the log; checks for a failure before anything else."""
    log, session = context.log, excerpt.session
    answer = context.clean(
        write_with_retries(
            lambda: context.write(excerpt.text, session), context.retries, context.sleep, log
        )
    )
    if answer.startswith(ERROR):
        log.error(f"Flush failed for session {session}, context kept: {excerpt.path}: {answer}")
        return _Failure(answer.startswith(f"{ERROR}: {BudgetSpent.__name__}:"))
    if answer.strip() == OK:
        log.info(f"Result: {OK}")
        return daily.Entry(session, key, daily.NOTHING, daily.MAINTENANCE)
    log.info(f"Result: saved to daily log ({len(answer)} chars)")
    return daily.Entry(session, key, answer)


def _entry_key(excerpt: _Excerpt, journal: JournalPaths) -> str:
    """The key of this excerpt's entry, the same in every run.

    Our own excerpts have unique names. The name of any other file may be used again, so its time
    is part of the key instead.
    """
    ours = excerpt.path.parent == journal.excerpts
    instance = excerpt.path.name if ours else str(excerpt.path.stat().st_mtime_ns)
    parts = "\0".join((excerpt.session, excerpt.content, instance))
    return hashlib.sha256(parts.encode("utf-8", "surrogateescape")).hexdigest()[:24]


def _flush_records(context: FlushContext) -> list[flush_records.FlushRecord]:
    return flush_records.read_flush_records(context.journal, context.clock(), context.log.warning)


def _discard(path: Path, context: FlushContext) -> None:
    pending = _pending(context)
    path.unlink(missing_ok=True)
    flush_records.remove_pending(context.journal, str(path.absolute()), pending)


def _compile_if_due(context: FlushContext) -> None:
    """Start a compile if logs are due; whatever happens to it, the flush is done."""
    log, now = context.log, context.clock()
    logs = read_day_logs(context.journal)
    if not logs or context.compile is None:
        return
    interval, warning = compile_interval(context.environ, context.interval_min)
    state = load_json_with_recovery(context.journal.state, {}, now, log.warning)
    due = due_logs(logs, state, local_date(now), now, interval)
    for text in (*((warning,) if warning else ()), *due.warnings):
        log.warning(text)
    for text in due.infos:
        log.info(text)
    if not due.files:
        return
    log.info(f"Compilation triggered (staleness gate): {', '.join(due.files)}")
    try:
        context.compile(due.files)
    except OSError as error:
        log.error("Compilation could not be started", cause=error)


def main(arguments: list[str]) -> int:
    """The command itself; it prints nothing, since its output is discarded."""
    guard()
    # Imported only now: these modules can start agents.
    from session_memory.journal.standalone import run

    return run(arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
