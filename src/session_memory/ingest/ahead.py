"""What a pool does ahead of a sweep: draft the files it will come to, distil what it read.

Without a pool, and where none of its processes has begun with something, the sweep does it when its
turn comes. So nothing here changes what is stored, only who works it out.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import cache

import msgspec

from session_memory.adapters.common import Adapter, SourceFile
from session_memory.adapters.registry import find_agent
from session_memory.core.pricing import load_table
from session_memory.distil.sessions import Distilled, distil
from session_memory.file_names import name_to_text
from session_memory.ingest.context import SweepContext
from session_memory.ingest.discover import SMALL, ChangedFiles
from session_memory.ingest.drafted import Prepared
from session_memory.ingest.pauses import read_pauses
from session_memory.ingest.pool_jobs import DistilJob, PoolJob, PrepareJob, Setup, encode
from session_memory.ingest.process_pool import Job, ProcessPool
from session_memory.redact import make_redactor
from session_memory.settings import Redact
from session_memory.store.port import Store

WORTHWHILE = 40_000_000
"""Bytes to read from which on there is a pool: at 25 MB it takes a tenth more CPU to save half a
second, as every process builds its own automata."""
MOST_PROCESSES = 6
"""One process writes, and that is a fifth of the work: more would wait for it."""
LARGEST = 8 * 1024 * 1024
"""No larger file is drafted ahead, as the answer has to fit into memory."""
AHEAD_BYTES = 8 * 1024 * 1024
"""Of files, for each pool process, that are drafted before the sweep comes to them."""
LEAST_AHEAD = 24 * 1024 * 1024
"""With few processes: what they can draft while the sweep distils the sessions of a commit."""


# Made when a pool has answered: what they read has many fields, and most sweeps have no pool.
@cache
def _prepared_decoder() -> msgspec.msgpack.Decoder[Prepared]:
    return msgspec.msgpack.Decoder(Prepared)


@cache
def _distilled_decoder() -> msgspec.msgpack.Decoder[Distilled]:
    return msgspec.msgpack.Decoder(Distilled)


def processes(context: SweepContext, changed: list[ChangedFiles]) -> int:
    """How many processes a sweep should use, itself included."""
    if context.jobs is not None:
        return max(1, context.jobs)
    if sum(group.bytes_waiting for group in changed) < WORTHWHILE:
        return 1
    return max(1, min(MOST_PROCESSES, _cores()))


def _cores() -> int:
    if hasattr(os, "sched_getaffinity"):  # in a container these may be fewer than there are
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def pool_setup(context: SweepContext, store: Store) -> bytes:
    """What every pool process has to know."""
    return encode(
        Setup(
            context.store_directory,
            context.clock(),
            store.fingerprint_key,
            store.tag_key,
            context.config.redact,
            read_pauses(context.store_directory),
            store.forgotten_elsewhere(),
            context.config.ingest.line_cap_bytes,
        )
    )


def make_shared_parts(settings: Redact) -> None:
    """Make what the sweep and each of its pool processes need alike: forked processes share it."""
    make_redactor(b"any", settings, lambda _: None)  # what is compiled does not depend on the key
    load_table()


class Ahead:
    """The jobs of one sweep's pool; without a pool there are none."""

    def __init__(self, pool: ProcessPool | None, store: Store, changed: list[ChangedFiles]) -> None:
        self._pool = pool
        self._store = store
        self._files = [(group.adapter, file) for group in changed for file in group.files]
        self._next = 0
        self._at = 0
        self._drafting: dict[str, tuple[Job, int]] = {}
        self._bytes = 0
        self._distilling: dict[int, Job] = {}

    def prepared(self, file: SourceFile) -> Prepared | None:
        """What a pool process made of the file that the sweep has come to, if one has.

        Raises ProcessDiedError where a pool process died of it.
        """
        if self._pool is None:
            return None
        self._submit_files(self._pool)
        self._at += 1
        job, size = self._drafting.pop(file.path, (None, 0))
        if job is None:
            return None
        self._bytes -= size
        answer = self._pool.take(job)
        return None if answer is None else _prepared_decoder().decode(answer)

    def _submit_files(self, pool: ProcessPool) -> None:
        self._next = max(self._next, self._at)
        most = max(LEAST_AHEAD, AHEAD_BYTES * len(pool.pids))
        while self._next < len(self._files) and self._bytes < most:
            adapter, file = self._files[self._next]
            self._next += 1
            if not self._is_fit(adapter, file):
                continue
            job = self._submitted(pool, PrepareJob(adapter.name, file))
            if job is not None:
                self._drafting[file.path] = (job, file.size)
                self._bytes += file.size

    def _is_fit(self, adapter: Adapter, file: SourceFile) -> bool:
        """Whether a pool process can read a file from its start, as if there were no store."""
        if not (adapter.incremental and SMALL <= file.size <= LARGEST):
            return False
        agent = find_agent(adapter.name)
        if agent is None or agent.load_reader() is not adapter:
            return False
        return self._store.cursor(name_to_text(file.path)) is None

    def _submitted(self, pool: ProcessPool, job: PoolJob, *, urgent: bool = False) -> Job | None:
        try:
            message = encode(job)
        except UnicodeEncodeError:  # a file name that is no text
            return None
        return pool.submit(message, urgent=urgent)

    def distil(self, sessions: list[int]) -> bool:
        """Have sessions distilled as they were committed last; False where the sweep should do it.

        It should where there is one pool process: that has enough to do with drafting, and would
        have to read and unpack the texts that the sweep still has in memory.
        """
        if self._pool is None or len(self._pool.pids) == 1:
            return False
        for session_id in reversed(sessions):
            job = self._submitted(self._pool, DistilJob(session_id), urgent=True)
            if job is not None:
                self._distilling[session_id] = job
        return True

    def distilled(self) -> Iterator[tuple[int, Distilled | Exception | None]]:
        """The sessions that `distil` was given, in order; None for one to be distilled now.

        To be called before anything else is committed. What the pool has not begun is done here,
        from the end, while it goes on from the start.
        """
        pool, jobs = self._pool, self._distilling
        self._distilling = {}
        if pool is None:
            return
        own: dict[int, Distilled | None] = {}
        for session_id in sorted(jobs, reverse=True):
            if pool.withdraw(jobs[session_id]):
                own[session_id] = self._distilled_here(session_id)
        for session_id in sorted(jobs):
            if session_id in own:
                yield session_id, own[session_id]
                continue
            try:
                answer = pool.take(jobs[session_id])
            except Exception as error:  # noqa: BLE001 - it is this session's failure
                yield session_id, error
            else:
                yield session_id, None if answer is None else _distilled_decoder().decode(answer)

    def _distilled_here(self, session_id: int) -> Distilled | None:
        try:
            return distil(self._store, session_id)
        except Exception as error:
            if self._store.is_unusable_after(error):
                raise
            return None  # it will fail again when its turn comes, and be reported

    def drop_distilled(self) -> None:
        """Forget what was distilled: the store has changed in another way than expected."""
        for _ in self.distilled():
            pass
