"""One run of the worker: drain the spool, import what is due, do due jobs, refresh injection pages.

Everything it does can be repeated: records are removed after their import was committed, jobs are
leased, files are replaced whole. So it may be killed at any point.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from session_memory.clock import iso
from session_memory.core.jobs import Job
from session_memory.core.spool import ImportRequest, SpoolPlan, SpoolRecord, plan_imports
from session_memory.core.text.reason import reason_of
from session_memory.errors import BudgetSpent, Refused, SessionMemoryError, StoreLocked
from session_memory.ingest.context import Log, SweepContext
from session_memory.ingest.report import SweepReport
from session_memory.paths import append_log, private_dir
from session_memory.store.lock import exclusive
from session_memory.store.port import Store
from session_memory.worker.spool_files import SpoolFiles, read_served, write_served
from session_memory.worker.sweep import sweep_and_mine

if TYPE_CHECKING:
    from session_memory.worker.features import WorkerFeatures

SOFT_LIMIT_S = 600.0
"""No new work is started after this time."""
PATIENCE_MS = 120_000
"""How long to wait for a transcript that does not exist yet, before its record is dropped."""
BUSY_WAIT_S = 0.2

Handler = Callable[[Store, Job, str], None]
"""Does a job; commits through `store.jobs.completing(job, token)`."""


class WorkerReport(msgspec.Struct):
    """What a run did."""

    already_running: bool = False
    records: int = 0
    imports: int = 0
    waiting: int = 0
    skipped: int = 0
    damaged: int = 0
    new_turns: int = 0
    jobs_done: int = 0
    jobs_failed: int = 0
    jobs_put_off: int = 0
    sweeps: int = 0
    pages: int = 0


class WorkerLog:
    """One JSON line per thing done, in `worker.log`; the log before it is `worker.log.1`."""

    def __init__(self, directory: Path, echo: Log) -> None:
        self._path = directory / "worker.log"
        self._echo = echo
        private_dir(directory)

    def write(self, now_ms: int, event: str, **fields: str | int | None) -> None:
        """Append a line. Fields are ids, paths, counts and reasons, never text of sessions."""
        line = msgspec.json.encode({"at": iso(now_ms), "event": event, **fields})
        append_log(self._path, line + b"\n")
        self._echo(" ".join((event, *(f"{name}={value}" for name, value in fields.items()))))


class Worker:
    """One run: construct it, then call `run`."""

    def __init__(
        self,
        context: SweepContext,
        state: Path,
        token: str,
        handlers: Mapping[str, Handler] | None = None,
        features: WorkerFeatures | None = None,
    ) -> None:
        self._context = context
        self._state = state
        self._token = token
        self._features = features
        self._handlers = {**(features.handlers() if features else {}), **(handlers or {})}
        self._spool = SpoolFiles(str(state / "spool"))
        self._log = WorkerLog(state / "logs", context.log)
        self._began = time.monotonic()

    def run(self) -> WorkerReport:
        """Work until nothing is due; only one worker runs at a time."""
        report = WorkerReport()
        lock = str(self._state / "worker.lock")
        while True:
            try:
                with exclusive(lock, "a worker"):
                    self._work(report)
            except StoreLocked:
                report.already_running = True
                return report
            # A hook that found us running starts no worker for its record: look once more.
            if not self._has_time() or not self._is_ready():
                return report

    def _has_time(self) -> bool:
        return time.monotonic() - self._began < SOFT_LIMIT_S

    def _is_ready(self) -> bool:
        now = self._context.clock()
        plan = plan_imports(self._spool.list(now).records, read_served(self._state), now)
        return any(not self._is_too_early(request, now) for request in plan.due)

    def _work(self, report: WorkerReport) -> None:
        while self._has_time():
            now = self._context.clock()
            listing = self._spool.list(now)
            if listing.damaged:
                report.damaged += len(listing.damaged)
                self._spool.set_aside(listing.damaged)
                self._log.write(now, "damaged_records", count=len(listing.damaged))
            plan = plan_imports(listing.records, read_served(self._state), now)
            ready = [request for request in plan.due if not self._is_too_early(request, now)]
            report.waiting = len(plan.waiting) + len(plan.due) - len(ready)
            if not ready and not plan.notes:
                break
            self._take(ready, plan, report)
        self._run_jobs(report)
        self._refresh_pages(report)

    def _refresh_pages(self, report: WorkerReport) -> None:
        """Write what sessions are given at their start."""
        if self._features is None or not os.path.exists(self._context.store_directory):
            return
        store = self._context.open_store()
        try:
            report.pages = self._features.refresh(store, self._context.clock(), self._log_page)
        except Exception as error:
            if store.is_unusable_after(error):
                raise
            self._log.write(self._context.clock(), "pages_failed", reason=reason_of(error))
        finally:
            store.close()

    def _log_page(self, project: str, error: Exception) -> None:
        now = self._context.clock()
        self._log.write(now, "page_failed", project=project, reason=reason_of(error))

    def _is_too_early(self, request: ImportRequest, now: int) -> bool:
        """Whether its transcript is not written yet and may still appear."""
        if any(os.path.exists(path) for path in request.files) or not request.files:
            return False
        return now - request.due_at < PATIENCE_MS

    def _take(self, ready: list[ImportRequest], plan: SpoolPlan, report: WorkerReport) -> None:
        """Import, then store what the records say, then remove them: in this order."""
        ids = {record_id for request in ready for record_id in request.record_ids}
        records = [r for r in self._spool.list(self._context.clock()).records if r.id in ids]
        # The start of a session also imports an earlier one that never reported its end.
        if ready or any(note.kind == "session_start" for note in plan.notes):
            self._sweep(ready, report)
        store = self._context.open_store()
        try:
            self._recover(store, records)
            self._note(store, [*records, *plan.notes], report)
        finally:
            store.close()
        now = self._context.clock()
        served = read_served(self._state)
        for request in ready:
            served.update(dict.fromkeys((request.key, *request.repeat_keys), now))
            self._log_missing(request, now, report)
        write_served(self._state, served, now)
        done = [*ids, *(note.id for note in plan.notes)]
        report.records += len(done)
        self._spool.remove(done)

    def _recover(self, store: Store, records: list[SpoolRecord]) -> None:
        """Runs first: the agent may finish its compaction at any moment."""
        if self._features is None:
            return
        now = self._context.clock()
        try:
            self._features.recover(store, records, now)
        except Exception as error:
            if store.is_unusable_after(error):
                raise
            self._log.write(now, "recovery_failed", reason=reason_of(error))

    def _note(self, store: Store, records: list[SpoolRecord], report: WorkerReport) -> None:
        """Store what records say; one that cannot be stored is set aside, the others are stored."""
        try:
            report.new_turns += store.live.note(records)
            if self._features is not None:
                self._features.enqueue(store, records, self._context.clock())
        except Exception as error:
            if store.is_unusable_after(error) or isinstance(error, Refused):
                raise
            if len(records) > 1:
                for record in records:
                    self._note(store, [record], report)
                return
            self._spool.set_aside([f"{record.id}.json" for record in records])
            report.damaged += 1
            self._log.write(self._context.clock(), "damaged_record", reason=reason_of(error))

    def _sweep(self, ready: list[ImportRequest], report: WorkerReport) -> None:
        """Sweep with the named transcripts, after any sweep that is running now."""
        named: dict[str, list[str]] = {}
        for request in ready:
            named.setdefault(request.flavor, []).extend(request.files)
        context = msgspec.structs.replace(self._context, named=named)
        while True:
            try:
                done = sweep_and_mine(context, self._state / "last_sweep.json")
                break
            except StoreLocked:
                if not self._has_time():
                    raise
                time.sleep(BUSY_WAIT_S)
            except Exception as error:
                self._log.write(context.clock(), "sweep_failed", reason=reason_of(error))
                raise
        report.sweeps += 1
        report.imports += len(ready)
        self._log_sweep(done)

    def _log_sweep(self, done: SweepReport) -> None:
        self._log.write(
            self._context.clock(),
            "sweep",
            ingested=done.ingested,
            events=done.events,
            analyzed=done.analyzed,
            failed=len(done.failed) + len(done.failed_steps),
        )
        for reason in done.warnings:
            self._log.write(self._context.clock(), "warning", reason=reason)

    def _log_missing(self, request: ImportRequest, now: int, report: WorkerReport) -> None:
        if request.files and not any(os.path.exists(path) for path in request.files):
            report.skipped += 1
            self._log.write(now, "SKIP", session=request.session, transcript=request.files[0])

    def _run_jobs(self, report: WorkerReport) -> None:
        if not self._handlers:
            return
        store = self._context.open_store()
        try:
            kinds = tuple(self._handlers)
            while self._has_time():
                job = store.jobs.claim(kinds, self._token, self._context.clock())
                if job is None:
                    return
                self._run_job(store, job, report)
        finally:
            store.close()

    def _run_job(self, store: Store, job: Job, report: WorkerReport) -> None:
        try:
            self._handlers[job.kind](store, job, self._token)
            report.jobs_done += 1
        except BudgetSpent as error:
            now = self._context.clock()
            store.jobs.put_off(job, self._token, error.message, now)
            report.jobs_put_off += 1
            self._log.write(now, "job_put_off", kind=job.kind, key=job.key, reason=error.code)
        except Exception as error:
            if store.is_unusable_after(error):
                raise
            now = self._context.clock()
            code = error.code if isinstance(error, SessionMemoryError) else reason_of(error)
            store.jobs.fail(job, self._token, reason_of(error), now)
            report.jobs_failed += 1
            self._log.write(now, "job_failed", kind=job.kind, key=job.key, reason=code)
