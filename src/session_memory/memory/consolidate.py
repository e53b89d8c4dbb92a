"""The traces of a place become its MEMORY.md: under a lock, in a staging folder, then swapped.

`dispatch` prepares places and lets them be made beside each other; `watch` keeps their locks,
puts what was made in place and gives the locks back. The store is used on the caller's thread only.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, CancelledError, Future, ThreadPoolExecutor, wait
from pathlib import Path
from typing import Literal

import msgspec

from session_memory.clock import Clock
from session_memory.errors import BudgetSpent, Refused, SessionMemoryError
from session_memory.memory import lock
from session_memory.memory.extract import CONCURRENCY, Around
from session_memory.memory.layout import TRACES, ensure_layout, memory_root, normalised
from session_memory.memory.model_consolidation import MAX_FILES_BYTES, input_limit, make
from session_memory.memory.outputs import Files, final
from session_memory.memory.rule_consolidation import merge
from session_memory.memory.session_material import redact_with
from session_memory.memory.staging import (
    clear_leftovers,
    discard,
    prune,
    stage,
    staging_of,
    write_summary,
)
from session_memory.memory.stale import Lookup
from session_memory.memory.swap import is_current, stamp_of, swap, write_ready
from session_memory.memory.trace_parts import take_apart
from session_memory.memory.traces import thread_of
from session_memory.memory.working_tree import look_into
from session_memory.model.port import Model
from session_memory.store.memories import Claim, Trace
from session_memory.store.port import Store

MAX_TRACES_PER_CWD = 10
Status = Literal["done", "unchanged", "locked", "deferred", "failed", "lost"]


class Stage(msgspec.Struct, frozen=True):
    """What a consolidation needs from outside."""

    around: Around
    clock: Clock
    max_traces: int = MAX_TRACES_PER_CWD
    beat_s: float = lock.BEAT_SECONDS
    look: Callable[[str], Lookup] = look_into
    force: bool = False
    """Make it again although its traces did not change."""


class Done(msgspec.Struct, frozen=True):
    """How one place ended."""

    root: str
    status: Status
    reason: str = ""
    agent: str = ""


class _Begun(msgspec.Struct):
    """One place whose lock is ours."""

    claim: Claim
    live: Path
    staging: Path
    agent: str
    step: str = "lock"
    traces: list[Trace] = msgspec.field(default_factory=list[Trace])
    made: Future[Files] | None = None


def consolidate(store: Store, around: Stage, claims: Sequence[Claim]) -> list[Done]:
    """Consolidate places, at most eight beside each other; one that fails concerns itself alone."""
    unique = {normalised(claim.root): claim for claim in reversed(claims)}
    wanted = [msgspec.structs.replace(unique[root], root=root) for root in reversed(unique)]
    found: list[Done] = []
    for start in range(0, len(wanted), CONCURRENCY):
        found += dispatch(store, around, wanted[start : start + CONCURRENCY]).watch()
    return found


def dispatch(store: Store, around: Stage, claims: Sequence[Claim]) -> Running:
    """Lock and prepare places, and begin to make their memory; returns while that goes on."""
    running = Running(store, around)
    for claim in claims:
        running.begin(msgspec.structs.replace(claim, root=normalised(claim.root)))
    running.start()
    around.around.log.note("dispatched", count=len(claims))
    return running


class Running:
    """Consolidations under way: whoever dispatched them watches them to their end."""

    def __init__(self, store: Store, around: Stage) -> None:
        self._store = store
        self._stage = around
        self._log = around.around.log
        self._redact = redact_with(around.around.make_redactor(store.tag_key))
        self._begun: list[_Begun] = []
        self._done: list[Done] = []
        self._pool = ThreadPoolExecutor(CONCURRENCY, "consolidate")

    # --- prepare ---

    def begin(self, claim: Claim) -> None:
        """Lock a place and get everything ready; without the lock nothing is touched."""
        log, token = self._log, secrets.token_hex(6)
        try:
            got = lock.acquire(self._store.memories, claim.root, claim.owner, self._stage.clock())
        except SessionMemoryError as error:
            log.warn(
                "lock_failed",
                cwd=claim.root,
                operation="lock",
                stage="consolidate",
                reason=_reason(error),
            )
            self._done.append(Done(claim.root, "failed", _reason(error)))
            return
        if not got:
            log.debug("lock_held", cwd=claim.root)
            self._done.append(Done(claim.root, "locked", "another run consolidates it"))
            return
        live = memory_root(self._stage.around.data, claim.root)
        one = _Begun(claim, live, staging_of(live, token), f"{_LABEL}-{token}")
        self._begun.append(one)
        self._guarded(one, self._prepare)

    def _prepare(self, one: _Begun) -> None:
        def warn(text: str, path: str) -> None:
            self._log.warn("kept_file", cwd=one.claim.root, path=path, reason=text)

        self._at(one, "read")
        traces = self._store.memories.of_root(one.claim.root, self._stage.max_traces)
        self._at(one, "layout")
        ensure_layout(one.live)
        clear_leftovers(one.live, warn)
        self._at(one, "prune")
        prune(one.live / TRACES, {trace.thread_id for trace in traces}, warn)
        self._at(one, "summary")
        write_summary(one.live, traces)
        one.traces = traces
        if is_current(one.live, stamp_of(traces)) and not self._stage.force:
            with self._store.memories.swapping(one.claim):
                pass  # nothing to do, but whoever asked for it is served
            self._finished(one, "unchanged")
            return
        self._at(one, "stage")
        stage(one.live, one.staging, warn)

    def start(self) -> None:
        """Let what was prepared be made; the model is resolved once, and only if it is needed."""
        if not self._begun:
            return
        model, limit = None, MAX_FILES_BYTES
        try:
            folders = [one.staging for one in self._begun if one.traces]
            if folders:
                model = self._stage.around.open_model(self._store)
            if model is not None:
                limit = input_limit(model, folders)
        except SessionMemoryError as error:
            for one in tuple(self._begun):
                one.step = "spawn"
                self._failed(one, error)
            return
        for one in self._begun:
            self._at(one, "run")
            one.made = self._pool.submit(self._make, one, model, limit)
            self._log.note("consolidation_started", cwd=one.claim.root, agent=one.agent)

    def _make(self, one: _Begun, model: Model | None, limit: int) -> Files:
        """On a thread of its own: files of the staging folder only, never the store."""
        if not one.traces:
            return {}
        if model is not None:

            def warn(text: str) -> None:
                self._log.warn("prompt", cwd=one.claim.root, reason=text)

            return make(model, one.staging, warn, limit)
        files = {
            thread: f"{TRACES}/{path.name}"
            for path in sorted((one.staging / TRACES).glob("*.md"))
            if (thread := thread_of(path.name)) is not None
        }
        parts = [take_apart(trace) for trace in one.traces]
        return merge(parts, files, self._stage.look(one.claim.root))

    # --- watch ---

    def watch(self) -> list[Done]:
        """Wait for every place, keep the locks meanwhile, put in place, give the locks back."""
        try:
            while self._begun:
                for one in tuple(self._begun):
                    self._guarded(one, self._beat)
                made = {one.made: one for one in self._begun if one.made is not None}
                ready, _ = wait(made, self._stage.beat_s, FIRST_COMPLETED)
                for future in ready:
                    self._guarded(made[future], self._put)
        finally:
            for one in tuple(self._begun):  # something unforeseen: no lock stays behind
                self._finished(one, "failed", "broken off")
            self._pool.shutdown(wait=False, cancel_futures=True)
        return sorted(self._done, key=lambda one: one.root)

    def _beat(self, one: _Begun) -> None:
        """Say that we are at work; a place that was taken over is found out at the swap."""
        now, claim = self._stage.clock(), one.claim
        lock.renew(self._store.memories, claim.root, claim.owner, now)
        if claim.job is not None:
            self._store.jobs.heartbeat(claim.job, claim.token, now)

    def _put(self, one: _Begun) -> None:
        if one.made is None:
            return
        made = one.made.result()
        self._at(one, "check")
        traces = [f"{TRACES}/{path.name}" for path in (one.live / TRACES).glob("*.md")]
        whole = final(made, traces, self._redact) if one.traces else {}
        self._at(one, "swap")
        write_ready(one.staging, whole)
        with self._store.memories.swapping(one.claim):
            self._check_traces(one)
            swap(one.live, one.staging, whole, one.traces)
        self._finished(one, "done")

    def _check_traces(self, one: _Begun) -> None:
        """What was forgotten or redacted meanwhile must not come back by what was made of it."""
        now = {trace.thread_id: trace for trace in self._store.memories.of_root(one.claim.root)}
        if any(now.get(trace.thread_id) != trace for trace in one.traces):
            raise Refused("a trace changed while it was consolidated")

    # --- end ---

    def _guarded(self, one: _Begun, act: Callable[[_Begun], None]) -> None:
        """Do one step of a place; whatever fails ends that place, and gives its lock back."""
        try:
            act(one)
        except CancelledError:
            self._log.warn("status_lost", cwd=one.claim.root, status=one.step)
            self._finished(one, "lost", f"its run was lost; last seen at {one.step}")
        except (OSError, SessionMemoryError) as error:
            self._failed(one, error)

    def _failed(self, one: _Begun, error: OSError | SessionMemoryError) -> None:
        if isinstance(error, BudgetSpent):  # nothing was asked: it waits for a run that may
            root, reason = one.claim.root, error.message
            self._log.note("consolidation_deferred", cwd=root, reason=reason)
            self._finished(one, "deferred", reason)
            return
        self._log.warn(
            "consolidation_failed",
            cwd=one.claim.root,
            operation=one.step,
            stage="consolidate",
            reason=_reason(error),
        )
        self._finished(one, "failed", _reason(error))

    def _finished(self, one: _Begun, status: Status, reason: str = "") -> None:
        """Clean up, give the lock back, and only then say so."""

        def warn(text: str, path: str) -> None:
            self._log.warn("kept_file", cwd=one.claim.root, path=path, reason=text)

        self._begun.remove(one)
        discard(one.staging, warn)
        try:
            lock.release(self._store.memories, one.claim.root, one.claim.owner)
        except SessionMemoryError as error:  # its lease ends by itself
            self._log.warn(
                "release_failed",
                cwd=one.claim.root,
                operation="release",
                stage="consolidate",
                reason=_reason(error),
            )
        self._log.note("consolidation_finished", cwd=one.claim.root, agent=one.agent, status=status)
        self._done.append(Done(one.claim.root, status, reason, one.agent))

    def _at(self, one: _Begun, step: str) -> None:
        one.step = step
        self._log.debug("step", cwd=one.claim.root, step=step)


_LABEL = "consolidation"


def _reason(error: OSError | SessionMemoryError) -> str:
    if isinstance(error, SessionMemoryError):
        return error.message
    return error.strerror or type(error).__name__
