"""What a pool process does: draft new files and distil sessions, for the sweep that started it.

It reads logs and the store and writes nothing. A job it cannot do is answered with nothing: the
sweep does it again itself, and reports what went wrong like everything else that does.

`python -m session_memory.ingest.pool_jobs` is such a process, where forking is not safe.
"""

from __future__ import annotations

import os
import sys
from typing import BinaryIO

import msgspec

from session_memory.adapters.common import SourceFile
from session_memory.adapters.registry import adapter
from session_memory.core.pauses import Pauses
from session_memory.core.pricing import load_table
from session_memory.distil.sessions import distil
from session_memory.ingest.drafted import prepare
from session_memory.ingest.normalize import Drafter
from session_memory.ingest.process_pool import read_message, write_message
from session_memory.redact import make_redactor
from session_memory.settings import Redact
from session_memory.store import open_store
from session_memory.store.port import Elsewhere, Store


class Setup(msgspec.Struct, frozen=True):
    """The first message to a pool process: all that its jobs have in common."""

    directory: str
    """Of the store."""
    now: int
    fingerprint_key: bytes
    tag_key: bytes
    redact: Redact
    pauses: Pauses
    elsewhere: Elsewhere
    line_cap: int


class PrepareJob(msgspec.Struct, frozen=True, tag=True):
    """Draft a file that was never read before."""

    flavor: str
    file: SourceFile


class DistilJob(msgspec.Struct, frozen=True, tag=True):
    """Distil a session as the store has it."""

    session_id: int


PoolJob = PrepareJob | DistilJob
encode = msgspec.msgpack.Encoder().encode


class JobRunner:
    """Does one job after the other."""

    def __init__(self, setup: Setup) -> None:
        self._setup = setup
        # The sweep that started this process makes the same one, and reports its warnings.
        redactor = make_redactor(setup.tag_key, setup.redact, lambda _: None)
        key = setup.fingerprint_key
        self._drafter = Drafter(key, redactor, load_table(), setup.elsewhere)
        self._store: Store | None = None

    def do(self, job: PoolJob) -> bytes:
        """The answer to a job."""
        if isinstance(job, PrepareJob):
            setup, reader = self._setup, adapter(job.flavor)
            self._drafter.redactor.take_counts()  # of a file that failed
            return encode(
                list(prepare(self._drafter, setup.pauses, reader, job.file, setup.line_cap))
            )
        if self._store is None:
            self._store = open_store(self._setup.directory, self._setup.now, read_only=True)
        return encode(distil(self._store, job.session_id))


def serve(jobs: BinaryIO, answers: BinaryIO) -> None:
    """Do jobs until there are no more, or nobody waits for the answer."""
    message = read_message(jobs)
    if message is None:
        return
    runner = JobRunner(msgspec.msgpack.decode(message, type=Setup))
    read_job = msgspec.msgpack.Decoder(PoolJob).decode
    write_message(answers, b"")
    while (message := read_message(jobs)) is not None:
        try:
            answer = runner.do(read_job(message))
        except Exception:  # noqa: BLE001 - see above: whatever it is, the sweep will meet it
            answer = b""
        write_message(answers, answer)


if __name__ == "__main__":
    os.umask(0o077)
    serve(sys.stdin.buffer, sys.stdout.buffer)
