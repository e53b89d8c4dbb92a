"""Makes a project's MEMORY.md from its traces: under a lock, in a staging folder, then swaps it.

`dispatch` prepares project roots and starts to make their memories in parallel; `watch` renews
their locks, swaps the results in and releases the locks. The store is used on the caller's thread
only.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, CancelledError, Future, ThreadPoolExecutor, wait
from pathlib import Path
from typing import Literal

import msgspec

from session_memory.clock import iso
from session_memory.errors import BudgetSpent, Refused, SessionMemoryError
from session_memory.memory.context import MemoryContext, reason_of, redact_with
from session_memory.memory.extract import CONCURRENCY
from session_memory.memory.file_support import check_files
from session_memory.memory.instructions import (
    INSTRUCTIONS,
    logged_instructions,
    read_instructions,
)
from session_memory.memory.known_session import KnownSession
from session_memory.memory.layout import LINES, TRACES, ensure_layout, memory_root, normalised
from session_memory.memory.line_history import next_history, read_history, write_history
from session_memory.memory.model_consolidation import (
    MAX_FILES_BYTES,
    Task,
    ask_for_memory,
    input_room,
)
from session_memory.memory.outputs import Files, final_files
from session_memory.memory.rule_consolidation import Memory, make_memory
from session_memory.memory.sources import read_sources
from session_memory.memory.staging import (
    clear_leftovers,
    discard,
    prune,
    stage,
    staging_of,
    write_summary,
)
from session_memory.memory.support_sources import evidence_of_traces
from session_memory.memory.swap import SoFar, is_current, read_so_far, swap, write_ready
from session_memory.memory.trace_parser import parse_trace
from session_memory.memory.traces import thread_of
from session_memory.model import retry
from session_memory.model.port import Answer, InputRoom, Model, Request
from session_memory.store.memories import Claim, Trace
from session_memory.store.port import Store

LOCK_LEASE_SECONDS = 600
"""How long an owner may be silent before others can take the lock."""
Status = Literal["done", "unchanged", "locked", "deferred", "failed", "lost"]


class ConsolidationResult(msgspec.Struct, frozen=True):
    """How the consolidation of one project root ended."""

    root: str
    status: Status
    reason: str = ""
    agent: str = ""
    unsupported: int = 0
    """Statements of a model that were left out because what they cite does not support them."""


class _Run(msgspec.Struct):
    """One project root whose lock we hold."""

    claim: Claim
    live: Path
    staging: Path
    agent: str
    step: str = "lock"
    traces: list[Trace] = msgspec.field(default_factory=list[Trace])
    """The newest, whose files are kept and shown to a model."""
    all_traces: list[Trace] = msgspec.field(default_factory=list[Trace])
    sessions: list[KnownSession] = msgspec.field(default_factory=list[KnownSession])
    instructions: str = ""
    """What agents read in the repository anyway."""
    so_far: SoFar = SoFar()
    memory: Future[Memory] | None = None
    unsupported: int = 0


def manual_owner(token: str) -> str:
    """The lock owner of a run that no session asked for."""
    return f"manual:{token}"


def consolidate(
    store: Store, context: MemoryContext, claims: Sequence[Claim], *, force: bool = False
) -> list[ConsolidationResult]:
    """Consolidate project roots, up to eight in parallel; a failure affects only that root.

    `force` makes a memory again although its traces did not change.
    """
    by_root = {normalised(claim.root): claim for claim in reversed(claims)}
    unique = [msgspec.structs.replace(by_root[root], root=root) for root in reversed(by_root)]
    results: list[ConsolidationResult] = []
    for start in range(0, len(unique), CONCURRENCY):
        batch = unique[start : start + CONCURRENCY]
        results += dispatch(store, context, batch, force=force).watch()
    return results


def dispatch(
    store: Store, context: MemoryContext, claims: Sequence[Claim], *, force: bool = False
) -> Consolidations:
    """Lock and prepare project roots and start to make their memories; returns meanwhile."""
    running = Consolidations(store, context, force=force)
    for claim in claims:
        running.begin(msgspec.structs.replace(claim, root=normalised(claim.root)))
    running.start()
    context.log.note("dispatched", count=len(claims))
    return running


class Consolidations:
    """Consolidations under way; whoever dispatched them calls `watch`."""

    def __init__(self, store: Store, context: MemoryContext, *, force: bool) -> None:
        self._store = store
        self._context = context
        self._force = force
        self._log = context.log
        self._redact = redact_with(context.make_redactor(store.tag_key))
        self._runs: list[_Run] = []
        self._results: list[ConsolidationResult] = []
        self._pool = ThreadPoolExecutor(CONCURRENCY, "consolidate")

    # --- prepare ---

    def begin(self, claim: Claim) -> None:
        """Lock a project root and prepare it; without the lock nothing is touched."""
        token, memories = secrets.token_hex(6), self._store.memories
        try:
            now = self._context.clock()
            locked = memories.acquire(claim.root, claim.owner, now, LOCK_LEASE_SECONDS * 1000)
        except SessionMemoryError as error:
            self._warn("lock_failed", claim.root, "lock", error)
            self._results.append(ConsolidationResult(claim.root, "failed", reason_of(error)))
            return
        if not locked:
            self._log.debug("lock_held", cwd=claim.root)
            reason = "another run consolidates it"
            self._results.append(ConsolidationResult(claim.root, "locked", reason))
            return
        live = memory_root(self._context.data, claim.root)
        run = _Run(claim, live, staging_of(live, token), f"consolidation-{token}")
        self._runs.append(run)
        self._guarded(run, self._prepare)

    def _prepare(self, run: _Run) -> None:
        warn = self._warn_of_kept_files(run)
        self._set_step(run, "read")
        made_of = read_sources(self._store, run.claim.root, self._context.max_traces)
        traces = made_of.newest
        self._set_step(run, "layout")
        ensure_layout(run.live)
        clear_leftovers(run.live, warn)
        self._set_step(run, "prune")
        prune(run.live / TRACES, {trace.thread_id for trace in traces}, warn)
        self._set_step(run, "summary")
        write_summary(run.live, traces)
        run.traces, run.all_traces, run.sessions = traces, made_of.traces, made_of.sessions
        if is_current(run.live, made_of.stamp, made_of.digests) and not self._force:
            with self._store.memories.swapping(run.claim):
                pass  # nothing to do, but the job is done
            self._end(run, "unchanged")
            return
        on_disk = read_instructions(run.claim.root, INSTRUCTIONS)
        run.instructions = f"{on_disk}\n{logged_instructions(self._store, run.sessions)}"
        run.so_far = read_so_far(run.live)
        self._set_step(run, "stage")
        stage(run.live, run.staging, warn)

    def start(self) -> None:
        """Start to make the memories; the model is opened once, and only if it is needed."""
        if not self._runs:
            return
        model, room = None, InputRoom(MAX_FILES_BYTES, MAX_FILES_BYTES)
        try:
            folders = [run.staging for run in self._runs if run.traces]
            if folders:
                model = self._context.open_model(self._store)
            if model is not None:
                room = input_room(model, folders)
        except SessionMemoryError as error:
            for run in tuple(self._runs):
                run.step = "spawn"
                self._fail(run, error)
            return
        for run in self._runs:
            self._set_step(run, "run")
            run.memory = self._pool.submit(self._make_memory, run, model, room)
            self._log.note("consolidation_started", cwd=run.claim.root, agent=run.agent)

    def _make_memory(self, run: _Run, model: Model | None, room: InputRoom) -> Memory:
        """Runs on its own thread: uses files of the staging folder only, never the store."""
        if not run.traces:
            return Memory({})
        if model is not None:

            def warn(text: str) -> None:
                self._log.warn("prompt", cwd=run.claim.root, reason=text)

            def ask(request: Request) -> Answer:
                return retry.ask(model, request, self._context.wait)

            task = Task(run.staging, room, run.so_far)
            folders = model.works_in_folders
            return Memory(ask_for_memory(ask, task, warn, works_in_folders=folders))
        trace_files = {
            thread: f"{TRACES}/{path.name}"
            for path in sorted((run.staging / TRACES).glob("*.md"))
            if (thread := thread_of(path.name)) is not None
        }
        traces = [parse_trace(trace) for trace in run.all_traces]
        tree = self._context.open_tree(run.claim.root)
        return make_memory(traces, trace_files, tree, run.sessions, run.instructions)

    # --- watch ---

    def watch(self) -> list[ConsolidationResult]:
        """Wait for every run and renew its lock meanwhile, swap in its result, release the lock."""
        try:
            while self._runs:
                for run in tuple(self._runs):
                    self._guarded(run, self._renew_lock)
                by_future = {run.memory: run for run in self._runs if run.memory is not None}
                ready, _ = wait(by_future, self._context.lock_renewal_s, FIRST_COMPLETED)
                for future in ready:
                    self._guarded(by_future[future], self._swap_in)
        finally:
            for run in tuple(self._runs):  # an unexpected error: release all locks
                self._end(run, "failed", "broken off")
            self._pool.shutdown(wait=False, cancel_futures=True)
        return sorted(self._results, key=lambda result: result.root)

    def _renew_lock(self, run: _Run) -> None:
        """Renew lock and job; if another owner took the lock, the swap will notice."""
        now, claim = self._context.clock(), run.claim
        self._store.memories.renew(claim.root, claim.owner, now)
        if claim.job is not None:
            self._store.jobs.heartbeat(claim.job, claim.token, now)

    def _swap_in(self, run: _Run) -> None:
        if run.memory is None:
            return
        made = run.memory.result()
        self._set_step(run, "check")
        traces = [f"{TRACES}/{path.name}" for path in (run.live / TRACES).glob("*.md")]
        supported = made.files if made.by_rules else self._supported(run, made.files)
        files = final_files(supported, traces, self._redact) if run.traces else {}
        self._set_step(run, "swap")
        write_ready(run.staging, files)
        with self._store.memories.swapping(run.claim):
            self._check_traces(run)
            swap(run.live, run.staging, files, run.traces)
            self._keep_history(run, made)
        self._end(run, "done")

    def _supported(self, run: _Run, made: Files) -> Files:
        """What a model wrote, without the statements that its evidence does not support."""
        redacted = {name: self._redact(text) for name, text in made.items()}
        evidence = evidence_of_traces(self._store, run.all_traces, redacted.values())
        files, dropped = check_files(redacted, evidence)
        if dropped:
            run.unsupported = len(dropped)
            self._log.warn("unsupported", cwd=run.claim.root, count=len(dropped))
        return files

    def _keep_history(self, run: _Run, made: Memory) -> None:
        """Record which lines this run added, changed and retired; a model's page has no history."""
        if not made.by_rules:
            discard(run.live / LINES, lambda text, path: None)
            return
        today = (iso(self._context.clock()) or "")[:10]
        before = read_history(run.live)
        history, changes = next_history(before, made.included, made.left_out, run.sessions, today)
        write_history(run.live, history, self._redact)
        self._log.note(
            "lines_changed",
            cwd=run.claim.root,
            created=changes.created,
            updated=changes.updated,
            retired=changes.retired,
        )

    def _check_traces(self, run: _Run) -> None:
        """Refuse if a trace was forgotten or redacted meanwhile: the result may still repeat it."""
        now = {trace.thread_id: trace for trace in self._store.memories.of_root(run.claim.root)}
        if any(now.get(trace.thread_id) != trace for trace in run.all_traces):
            raise Refused("a trace changed while it was consolidated")

    # --- end ---

    def _guarded(self, run: _Run, act: Callable[[_Run], None]) -> None:
        """Do one step of a run; any failure ends that run and releases its lock."""
        try:
            act(run)
        except CancelledError:
            self._log.warn("status_lost", cwd=run.claim.root, status=run.step)
            self._end(run, "lost", f"its run was lost; last seen at {run.step}")
        except (OSError, SessionMemoryError) as error:
            self._fail(run, error)

    def _fail(self, run: _Run, error: OSError | SessionMemoryError) -> None:
        if isinstance(error, BudgetSpent):  # the model was not asked: it waits for a later run
            root, reason = run.claim.root, error.message
            self._log.note("consolidation_deferred", cwd=root, reason=reason)
            self._end(run, "deferred", reason)
            return
        self._warn("consolidation_failed", run.claim.root, run.step, error)
        self._end(run, "failed", reason_of(error))

    def _end(self, run: _Run, status: Status, reason: str = "") -> None:
        """Clean up and release the lock, and only then log and report the result."""
        root = run.claim.root
        self._runs.remove(run)
        discard(run.staging, self._warn_of_kept_files(run))
        try:
            self._store.memories.release(root, run.claim.owner)
        except SessionMemoryError as error:  # its lease ends by itself
            self._warn("release_failed", root, "release", error)
        self._log.note("consolidation_finished", cwd=root, agent=run.agent, status=status)
        result = ConsolidationResult(root, status, reason, run.agent, run.unsupported)
        self._results.append(result)

    def _warn_of_kept_files(self, run: _Run) -> Callable[[str, str], None]:
        def warn(text: str, path: str) -> None:
            self._log.warn("kept_file", cwd=run.claim.root, path=path, reason=text)

        return warn

    def _set_step(self, run: _Run, step: str) -> None:
        run.step = step
        self._log.debug("step", cwd=run.claim.root, step=step)

    def _warn(
        self, event: str, root: str, operation: str, error: OSError | SessionMemoryError
    ) -> None:
        self._log.warn(
            event, cwd=root, operation=operation, stage="consolidate", reason=reason_of(error)
        )
