"""A session's context becomes an entry of the day's log: once, and never lost on the way.

`python -m session_memory.journal.flush CONTEXT_FILE SESSION_ID` and the worker share this path. The
steps come in an order that a crash between any two of them can repeat: append, note the flush,
delete the context, then perhaps compile.
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

from session_memory.clock import Clock
from session_memory.errors import BudgetSpent
from session_memory.journal import daily, gate, pending, recent_flushes
from session_memory.journal.context import content_hash
from session_memory.journal.files import held, load_json_with_recovery, remove_leftovers
from session_memory.journal.log import FlushLog
from session_memory.journal.model_entry import ERROR, OK, Patience, Write, respond
from session_memory.journal.paths import Place

GUARD = {"CLAUDE_INVOKED_BY": "memory_flush", "SESSION_MEMORY_INTERNAL": "1"}
"""Hooks of an agent that we run see these and do nothing: else its end would flush again."""

Outcome = Literal["missing", "empty", "duplicate", "saved", "nothing", "failed"]
Compile = Callable[[tuple[str, ...]], None]


class Around(msgspec.Struct, frozen=True):
    """What a flush needs from outside."""

    place: Place
    clock: Clock
    write: Write
    clean: Callable[[str], str]
    """Takes secrets out of what a model or a log line says."""
    compile: Compile | None = None
    """Has logs compiled; None where there is no program for it."""
    upto: Callable[[str], int | None] = lambda _session: None
    """Up to when the session was read; noted with the flush."""
    spoken: Callable[[str], int | None] = lambda _session: None
    """When the session last spoke: its entry stands under that time, however late it is flushed."""
    sleep: Callable[[float], None] = time.sleep
    patience: Patience = Patience()
    interval_min: int = 60
    environ: Mapping[str, str] = {}

    @property
    def log(self) -> FlushLog:
        """Where it speaks."""
        return FlushLog(self.place.flush_log, self.clock, self.clean)


def guard() -> None:
    """Mark this process and all it starts as ours; before anything that can start an agent."""
    os.environ.update(GUARD)


def flush(context: Path, session: str, around: Around) -> Outcome:
    """Flush one context, then a few that wait, then compile if that is due."""
    log = around.log
    log.info(f"flush started for session {session}, context: {context}")
    with held(around.place.lock("flush"), "a flush"):
        remove_leftovers(around.place.daily, around.place.work)
        outcome = _flush_one(context, session, around)
        if outcome in ("saved", "nothing"):
            _drain(pending.due(_waiting(around), around.clock()), around)
            _maybe_compile(around)
            log.info(f"Flush complete for session {session}")
    return outcome


def retry_failed(around: Around, *, permanent: bool = False) -> dict[str, Outcome]:
    """Try every waiting context now, given-up ones only when asked; path to outcome."""
    with held(around.place.lock("flush"), "a flush"):
        chosen = [one for one in _waiting(around) if permanent or not one.permanent]
        outcomes = _drain(chosen, around)
        if any(outcome in ("saved", "nothing") for outcome in outcomes.values()):
            _maybe_compile(around)
    return outcomes


def _waiting(around: Around) -> list[pending.Waiting]:
    return pending.read_waiting(around.place, around.clock(), around.log.warning)


def _drain(chosen: list[pending.Waiting], around: Around) -> dict[str, Outcome]:
    outcomes: dict[str, Outcome] = {}
    for waiting in chosen:
        path = Path(waiting.path)
        if path.is_file():  # an earlier one of the same session may have replaced it
            around.log.info(f"Trying again: session {waiting.session}, context: {path}")
            outcomes[waiting.path] = _flush_one(path, waiting.session, around, drained=True)
    return outcomes


class _Context(msgspec.Struct, frozen=True):
    """A context as it was read."""

    path: Path
    session: str
    text: str
    content: str
    """Hash of the text."""


def _flush_one(path: Path, session: str, around: Around, *, drained: bool = False) -> Outcome:
    log, now = around.log, around.clock()
    try:
        text = path.read_bytes().decode("utf-8", "replace")
    except FileNotFoundError:
        log.error(f"Context file not found: {path}")
        return "missing"
    if not text.strip():
        log.info("Context file is empty, skipping")
        _discard(path, around)
        return "empty"
    context = _Context(path, session, text, content_hash(text))
    if recent_flushes.is_repeat(_recent(around), session, context.content, now):
        log.info(f"Skipping duplicate flush for session {session}")
        _discard(path, around)
        return "duplicate"
    log.info(f"Flushing session {session}: {len(text)} chars")
    entry = _save(context, around)
    if isinstance(entry, _Failed):
        failed = pending.Waiting(str(path.absolute()), session, around.clock())
        counts = drained and not entry.put_off
        pending.note_failure(around.place, failed, _waiting(around), drained=counts)
        return "failed"
    flushed = recent_flushes.Flushed(
        session, context.content, around.clock() / 1000, around.upto(session)
    )
    recent_flushes.remember(around.place, flushed, _recent(around))
    _discard(path, around)
    return "nothing" if entry.section == daily.MAINTENANCE else "saved"


class _Failed(msgspec.Struct, frozen=True):
    """No entry could be made."""

    put_off: bool
    """The budget does not allow it now: that says nothing about the context."""


def _save(context: _Context, around: Around) -> daily.Entry | _Failed:
    """Have an entry made and append it.

    A run that was cut off after its append has left the entry: it is not made again.
    """
    key = _key(context, around.place)
    saved = daily.find_entry(around.place, key)
    if saved is not None:
        around.log.info("Result: saved by an earlier run that was cut off")
        return saved
    made = _entry(context, key, around)
    if isinstance(made, daily.Entry):
        now = around.clock()
        daily.append_entry(around.place, made, min(now, around.spoken(context.session) or now))
    return made


def _entry(context: _Context, key: str, around: Around) -> daily.Entry | _Failed:
    """What goes into the log; a failure is tested for before all else."""
    log, session = around.log, context.session
    answer = around.clean(
        respond(lambda: around.write(context.text, session), around.patience, around.sleep, log)
    )
    if answer.startswith(ERROR):
        log.error(f"Flush failed for session {session}, context kept: {context.path}: {answer}")
        return _Failed(answer.startswith(f"{ERROR}: {BudgetSpent.__name__}:"))
    if answer.strip() == OK:
        log.info(f"Result: {OK}")
        return daily.Entry(session, key, daily.NOTHING, daily.MAINTENANCE)
    log.info(f"Result: saved to daily log ({len(answer)} chars)")
    return daily.Entry(session, key, answer)


def _key(context: _Context, place: Place) -> str:
    """What the entry of this very context is known by, in whatever run it is written.

    Contexts of ours have a name of their own. Of any other file the name may be used again, so its
    time counts.
    """
    ours = context.path.parent == place.contexts
    instance = context.path.name if ours else str(context.path.stat().st_mtime_ns)
    parts = "\0".join((context.session, context.content, instance))
    return hashlib.sha256(parts.encode("utf-8", "surrogateescape")).hexdigest()[:24]


def _recent(around: Around) -> list[recent_flushes.Flushed]:
    return recent_flushes.read_recent(around.place, around.clock(), around.log.warning)


def _discard(context: Path, around: Around) -> None:
    waiting = _waiting(around)
    context.unlink(missing_ok=True)
    pending.settle(around.place, str(context.absolute()), waiting)


def _maybe_compile(around: Around) -> None:
    """Ask for a compile where the gate says so; whatever happens to it, the flush is done."""
    log, now = around.log, around.clock()
    logs = [gate.DayLog(path.name, path.read_bytes()) for path in daily.days(around.place)]
    if not logs or around.compile is None:
        return
    interval, odd = gate.compile_interval(around.environ, around.interval_min)
    state = load_json_with_recovery(around.place.state, {}, now, log.warning)
    verdict = gate.decide(logs, state, daily.local_date(now), now, interval)
    for text in (*((odd,) if odd else ()), *verdict.warnings):
        log.warning(text)
    for text in verdict.infos:
        log.info(text)
    if not verdict.files:
        return
    log.info(f"Compilation triggered (staleness gate): {', '.join(verdict.files)}")
    try:
        around.compile(verdict.files)
    except OSError as error:
        log.error("Compilation could not be started", cause=error)


def main(arguments: list[str]) -> int:
    """The command by itself: silent, as its output goes nowhere; flush.log tells."""
    guard()
    # Only now: what is imported here can start agents.
    from session_memory.journal.standalone import run

    return run(arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
