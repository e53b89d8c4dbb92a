"""The journal's background jobs: hooks ask for a flush, and a flush asks for a compile.

A session that ended, or is about to be compacted, becomes a job `journal.flush`; logs that are due
become a job `journal.compile`. A job can be repeated after a crash: the names of its excerpt file
and its entry follow from the job.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from session_memory.clock import Clock
from session_memory.core.jobs import Job
from session_memory.core.schema import Session
from session_memory.core.spool import SpoolRecord
from session_memory.errors import BudgetSpent, Refused, StoreError
from session_memory.journal.compile import (
    CompileFailedError,
    compile_logs,
    report_lines,
    select_logs,
)
from session_memory.journal.context import (
    JournalContext,
    OpenModel,
    compile_context,
    flush_context,
    open_context,
    project_root,
)
from session_memory.journal.excerpt import make_excerpt, turns_of_session, write_excerpt
from session_memory.journal.flush import Outcome, flush, guard
from session_memory.journal.log import FlushLog
from session_memory.paths import Paths
from session_memory.settings import Config
from session_memory.settings import Journal as JournalSettings
from session_memory.store.port import MemoryStore, Store

FLUSH = "journal.flush"
COMPILE = "journal.compile"
Handler = Callable[[Store, Job, str], None]
TRIGGERS = {"session_end": "end", "compaction": "compaction"}


def enqueue(
    store: MemoryStore, records: Iterable[SpoolRecord], settings: JournalSettings, now: int
) -> int:
    """Ask for a flush of every session that ended or is being compacted; returns how many.

    Call it after the sweep that imported the sessions: one that the sweep left out (paused,
    excluded, forgotten) is not in the store, and so gets no entry.
    """
    if not settings.enabled:
        return 0
    count = 0
    for record in records:
        trigger = TRIGGERS.get(record.kind)
        name = record.session or (Path(record.transcript).stem if record.transcript else None)
        if trigger is None or name is None or record.agent is not None:
            continue
        session = store.own_session(name, record.flavor)
        if session is not None and has_conversation(session):
            key = f"{trigger} {session.flavor}:{session.external_id}"
            count += store.jobs.enqueue(FLUSH, key, record.at, now, session.id)
    return count


def has_conversation(session: Session) -> bool:
    """Whether a person ran the session, and not a program or another agent."""
    return session.source_kind in ("interactive", "exec")


def handlers(
    paths: Paths, config: Config, clock: Clock, open_model: OpenModel
) -> dict[str, Handler]:
    """What the worker calls for the jobs of the journal; nothing if the journal is disabled."""
    if not config.journal.enabled:
        return {}
    guard()

    def context_of(store: Store) -> JournalContext:
        return open_context(paths.data, config, clock, store, open_model(store))

    def flush_job(store: Store, job: Job, token: str) -> None:
        """Flush, then end the job: a failed flush keeps its excerpt and is retried later."""
        if job.session_id is not None:
            session, trigger = store.session(job.session_id), job.key.partition(" ")[0]
            try:
                flush_session(context_of(store), session, trigger, job.input)
            except OSError as error:
                raise Refused(f"the journal cannot be written: {error}") from error
        with store.jobs.completing(job, token):
            pass

    def compile_job(store: Store, job: Job, token: str) -> None:
        _compile(context_of(store), job.key, lambda: store.jobs.heartbeat(job, token, clock()))
        with store.jobs.completing(job, token):
            pass

    return {FLUSH: flush_job, COMPILE: compile_job}


def _compile(context: JournalContext, root: str, heartbeat: Callable[[], object]) -> None:
    """Compile every log that changed; raises if one fails or is deferred, to fail the job."""
    journal = context.journal(root)
    log = FlushLog(journal.compile_log, context.clock, context.clean)
    compiling = compile_context(context, journal, log.warning, heartbeat)
    try:
        report = compile_logs(compiling, select_logs(compiling))
    except OSError as error:
        raise CompileFailedError(f"the journal cannot be compiled: {error}") from error
    for line in report_lines(report):
        log.info(line)
    if report.failed:
        raise CompileFailedError("; ".join(f"{k}: {v}" for k, v in report.failed.items()))
    if report.deferred:
        raise BudgetSpent("; ".join(report.deferred.values()))


def flush_session(
    context: JournalContext, session: Session, trigger: str, watermark: int
) -> Outcome | None:
    """Flush the end of a session; None if it has too few turns for this trigger."""
    store = context.store
    if store is None:
        raise StoreError("a session can only be flushed from a store")
    settings = context.config.journal
    least = settings.min_turns_compaction if trigger == "compaction" else settings.min_turns_end
    turns = turns_of_session(store, session.id)
    if len(turns) < least:
        return None
    root = project_root(store, session)
    journal = context.journal(root)
    text = make_excerpt(turns, context.clean)
    path = write_excerpt(journal, session.external_id, watermark, text)

    def enqueue_compile(_files: tuple[str, ...]) -> None:
        now = context.clock()
        store.jobs.enqueue(COMPILE, root, now, now)

    return flush(path, session.external_id, flush_context(context, journal, enqueue_compile))
