"""The pool of a sweep: processes that get jobs through one pipe and answer through another.

They only read, so one that dies loses nothing: the job it was at has failed, and all others are
done by the remaining ones or by the sweep itself. They end with the sweep, however that ends: a
pipe whose other side is gone says so.

Where it is safe they are forked, because importing everything again would cost each a quarter of a
second. An open database must not be carried into a fork, so the sweep opens its store after its
pool was started.
"""

from __future__ import annotations

import contextlib
import os
import struct
import sys
import threading
from collections import deque
from typing import TYPE_CHECKING, BinaryIO

if TYPE_CHECKING:
    import subprocess

SENT = 2
"""Jobs a pool process has at a time: the next one is there when it is done with the first."""
_LENGTH = struct.Struct("<Q")
_PIPE_BYTES = 1024 * 1024
"""Room for the answer to most jobs: by default a pipe on Linux holds 64 KiB."""


class ProcessDiedError(Exception):
    """The pool process that was at a job ended."""


class Job:
    """Something for a pool process to do; only `ProcessPool` looks inside."""

    def __init__(self, message: bytes) -> None:
        self.message = message
        self.answer: bytes | None = None
        self.has_failed = False
        self.is_sent = False


class ProcessPool:
    """Some pool processes, and the jobs they have not been given yet."""

    def __init__(self, count: int, setup: bytes, *, fork: bool | None = None) -> None:
        self._setup = setup
        self._waiting: deque[Job] = deque()
        self._changed = threading.Condition()
        self._is_closed = False
        start = _forked if (can_fork() if fork is None else fork) else _spawned
        self._processes: list[_Process] = []
        with contextlib.suppress(OSError):  # with fewer, or none, the sweep only takes longer
            for _ in range(count):  # all before the first thread: threads and forks do not mix
                self._processes.append(start())
        self._threads = [
            threading.Thread(target=self._feed, args=(process,), daemon=True)
            for process in self._processes
        ]
        for thread in self._threads:
            thread.start()

    @property
    def pids(self) -> list[int]:
        """The numbers of the processes."""
        return [process.pid for process in self._processes]

    def submit(self, message: bytes, *, urgent: bool = False) -> Job:
        """Have something done; urgent jobs come before all others."""
        job = Job(message)
        with self._changed:
            if urgent:
                self._waiting.appendleft(job)
            else:
                self._waiting.append(job)
            self._changed.notify_all()
        return job

    def withdraw(self, job: Job) -> bool:
        """Take back a job that no pool process has been given."""
        with self._changed:
            if job.is_sent:
                return False
            self._waiting.remove(job)
            job.is_sent = True
            return True

    def take(self, job: Job) -> bytes | None:
        """The answer, once there is one; None where the caller has to do the job itself.

        Raises ProcessDiedError where a pool process died of it.
        """
        with self._changed:
            while job.answer is None:
                if job.has_failed:
                    raise ProcessDiedError("the process that worked on it ended unexpectedly")
                if not job.is_sent:
                    self._waiting.remove(job)
                    job.is_sent = True
                    return None
                self._changed.wait()
        answer, job.answer = job.answer, b""
        return answer or None

    def close(self) -> None:
        """End all pool processes, whatever they are at: they hold nothing that could be lost."""
        with self._changed:
            self._is_closed = True
            self._waiting.clear()
            self._changed.notify_all()
        for process in self._processes:
            process.end()
        for thread in self._threads:
            thread.join()
        for process in self._processes:
            for stream in (process.input, process.output):
                with contextlib.suppress(OSError):  # what was not sent is not needed any more
                    stream.close()

    def _feed(self, process: _Process) -> None:
        """Give one pool process its jobs until it dies or the sweep is over; runs in a thread."""
        sent: deque[Job] = deque()
        with contextlib.suppress(OSError):
            write_message(process.input, self._setup)
            is_up = read_message(process.output) is not None
            while is_up:
                while len(sent) < SENT and (job := self._next(wait=not sent)) is not None:
                    sent.append(job)
                    write_message(process.input, job.message)
                if not sent:
                    return
                answer = read_message(process.output)
                if answer is None:
                    break
                with self._changed:
                    sent.popleft().answer = answer
                    self._changed.notify_all()
        with self._changed:
            if sent:  # it did one thing after the other, so it was at the first
                sent.popleft().has_failed = True
            for job in reversed(sent):
                job.is_sent = False
                self._waiting.appendleft(job)
            self._changed.notify_all()

    def _next(self, *, wait: bool) -> Job | None:
        with self._changed:
            while not self._waiting:
                if self._is_closed or not wait:
                    return None
                self._changed.wait()
            job = self._waiting.popleft()
            job.is_sent = True
            return job


def write_message(stream: BinaryIO, message: bytes) -> None:
    """Send bytes of any length."""
    stream.write(_LENGTH.pack(len(message)))
    stream.write(message)
    stream.flush()


def read_message(stream: BinaryIO) -> bytes | None:
    """The next message; None where the other side is gone."""
    head = stream.read(_LENGTH.size)
    if len(head) < _LENGTH.size:
        return None
    (length,) = _LENGTH.unpack(head)
    message = stream.read(length)
    return message if len(message) == length else None


def can_fork() -> bool:
    """Whether this process can be copied as it is: other systems and threads forbid it."""
    return sys.platform == "linux" and threading.active_count() == 1


class _Process:
    """A pool process and both pipes."""

    def __init__(self, pid: int, streams: tuple[BinaryIO, BinaryIO]) -> None:
        self.pid = pid
        self.input, self.output = streams
        self.spawned: subprocess.Popen[bytes] | None = None

    def end(self) -> None:
        """Kill it and wait until it is gone."""
        if self.spawned is not None:
            self.spawned.kill()
            self.spawned.wait()
        else:
            import signal  # 2 ms, which a sweep without a pool saves

            os.kill(self.pid, signal.SIGKILL)  # not reaped yet, so the number is still its own
            os.waitpid(self.pid, 0)


def _spawned() -> _Process:
    """A pool process in a new interpreter."""
    import subprocess  # not needed for a fork

    process = subprocess.Popen(
        [sys.executable, "-m", "session_memory.ingest.pool_jobs"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    made = _Process(process.pid, (process.stdin, process.stdout))  # type: ignore[arg-type]
    made.spawned = process
    return made


def _forked() -> _Process:
    """A pool process that is a copy of this process, on Linux."""
    import fcntl  # not on every system

    from session_memory.ingest.pool_jobs import serve  # imported once, before the fork

    theirs_in, ours_out = os.pipe()
    ours_in, theirs_out = os.pipe()
    with contextlib.suppress(OSError):  # a pool process waits less often for its answer to be read
        fcntl.fcntl(ours_in, fcntl.F_SETPIPE_SZ, _PIPE_BYTES)
    pid = os.fork()
    if pid == 0:
        try:
            _let_go_of_all_but(theirs_in, theirs_out)
            serve(os.fdopen(theirs_in, "rb"), os.fdopen(theirs_out, "wb"))
        finally:
            os._exit(0)  # nothing of what this process was before may run its end again
    os.close(theirs_in)
    os.close(theirs_out)
    return _Process(pid, (os.fdopen(ours_out, "wb"), os.fdopen(ours_in, "rb")))


def _let_go_of_all_but(*kept: int) -> None:
    """Close every inherited file: locks would outlive the sweep, and pipes would never end."""
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in range(3):
        os.dup2(nothing, stream)
    for name in os.listdir("/proc/self/fd"):
        if (number := int(name)) > 2 and number not in kept:
            with contextlib.suppress(OSError):
                os.close(number)
    import signal  # see above

    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the sweep is interrupted, and ends us
