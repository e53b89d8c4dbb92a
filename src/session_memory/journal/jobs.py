"""The worker's part of the journal: from what hooks noted to a flush, as a job of the store.

A session that ended, or is about to be compacted, becomes a job `journal.flush`; a log that should
be compiled becomes a job `journal.compile`. Each job can be done again after a crash: its context
file and its entry have names that follow from the job.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path

import msgspec

from session_memory.clock import Clock
from session_memory.core.jobs import Job
from session_memory.core.schema import Session
from session_memory.core.spool import SpoolRecord
from session_memory.errors import BudgetSpent, Refused, StoreError
from session_memory.journal.compile import CompileFailedError, chosen, compile_logs, told
from session_memory.journal.context import make_context, turns_of_session, write_context
from session_memory.journal.entry_writer import (
    Desk,
    Opening,
    around,
    project_root,
    session_named,
    tools_of,
)
from session_memory.journal.flush import Outcome, flush, guard
from session_memory.journal.log import FlushLog
from session_memory.journal.redaction import cleaner, make_redactor
from session_memory.journal.spawn import compile_command
from session_memory.paths import Paths
from session_memory.settings import Config
from session_memory.settings import Journal as JournalSettings
from session_memory.store.port import Store

FLUSH = "journal.flush"
COMPILE = "journal.compile"
Handler = Callable[[Store, Job, str], None]
TRIGGERS = {"session_end": "end", "compaction": "compaction"}


def enqueue(
    store: Store, records: Iterable[SpoolRecord], settings: JournalSettings, now: int
) -> int:
    """Ask for a flush of every session that ended or is being compacted; returns how many.

    To be called after the sweep that took the sessions in: what it left out (paused, excluded,
    forgotten) is not there, and so gets no entry.
    """
    if not settings.enabled:
        return 0
    asked = 0
    for record in records:
        trigger = TRIGGERS.get(record.kind)
        name = record.session or (Path(record.transcript).stem if record.transcript else None)
        if trigger is None or name is None or record.agent is not None:
            continue
        session = session_named(store, name, record.flavor)
        if session is not None and _speaks(session):
            key = f"{trigger} {session.flavor}:{session.external_id}"
            asked += store.jobs.enqueue(FLUSH, key, record.at, now, session.id)
    return asked


def handlers(paths: Paths, config: Config, clock: Clock, open_model: Opening) -> dict[str, Handler]:
    """What the worker does for the journal; nothing while it is turned off."""
    if not config.journal.enabled:
        return {}
    guard()
    duty = _Duty(paths.data, config, clock, open_model)
    return {FLUSH: partial(_flush_job, duty), COMPILE: partial(_compile_job, duty)}


class _Duty(msgspec.Struct, frozen=True):
    data: Path
    config: Config
    clock: Clock
    open_model: Opening

    def desk(self, store: Store) -> Desk:
        """What a job needs, with the store's own rules."""
        clean = cleaner(make_redactor(store.tag_key, self.config.redact))
        return Desk(self.data, self.config, self.clock, store, self.open_model(store), clean)


def _flush_job(duty: _Duty, store: Store, job: Job, token: str) -> None:
    """Flush, then end the job: a failed flush has kept its context, which is tried again later."""
    if job.session_id is not None:
        try:
            flush_session(
                duty.desk(store),
                store.session(job.session_id),
                job.key.partition(" ")[0],
                job.input,
            )
        except OSError as error:
            raise Refused(f"the journal cannot be written: {error}") from error
    with store.jobs.completing(job, token):
        pass


def _compile_job(duty: _Duty, store: Store, job: Job, token: str) -> None:
    """Compile what the gate let through, or grew since; a log that fails makes the job fail."""
    desk = duty.desk(store)
    place = desk.place(job.key)

    def alive() -> None:
        store.jobs.heartbeat(job, token, duty.clock())

    log = FlushLog(place.compile_log, duty.clock, desk.clean)
    tools = tools_of(desk, place, log.warning, alive)
    try:
        report = compile_logs(tools, chosen(tools))
    except OSError as error:
        raise CompileFailedError(f"the journal cannot be compiled: {error}") from error
    for line in told(report):
        log.info(line)
    if report.failed:
        raise CompileFailedError("; ".join(f"{k}: {v}" for k, v in report.failed.items()))
    if report.deferred:
        raise BudgetSpent("; ".join(report.deferred.values()))
    with store.jobs.completing(job, token):
        pass


def flush_session(desk: Desk, session: Session, trigger: str, watermark: int) -> Outcome | None:
    """Flush the end of a session; None where it said too little for this trigger."""
    store = desk.store
    if store is None:
        raise StoreError("a session can only be flushed from a store")
    settings = desk.config.journal
    least = settings.min_turns_compaction if trigger == "compaction" else settings.min_turns_end
    turns = turns_of_session(store, session.id)
    if len(turns) < least:
        return None
    root = project_root(store, session)
    place = desk.place(root)
    context = write_context(place, session.external_id, watermark, make_context(turns, desk.clean))
    return flush(context, session.external_id, around(desk, place, _compile_later(desk, root)))


def _compile_later(desk: Desk, root: str) -> Callable[[tuple[str, ...]], None] | None:
    store = desk.store
    if store is None or compile_command(root) is None:
        return None

    def ask(_files: tuple[str, ...]) -> None:
        now = desk.clock()
        store.jobs.enqueue(COMPILE, root, now, now)

    return ask


def _speaks(session: Session) -> bool:
    """Sessions of people; sub-agents report to theirs, and internal ones are of programs."""
    return session.source_kind in ("interactive", "exec")
