"""What a store keeps for memory: the trace of each session, and who consolidates them."""

from __future__ import annotations

from collections.abc import Callable, Collection
from contextlib import AbstractContextManager
from typing import Protocol

import msgspec

from session_memory.core.jobs import Job


class Trace(msgspec.Struct, frozen=True):
    """What a session left for its project."""

    session_id: int
    thread_id: str
    root: str
    """Normalised directory whose memory it belongs to."""
    trace_summary: str
    memory_summary: str
    updated_at: int
    """Of the session when it was read."""


class Passed(msgspec.Struct, frozen=True):
    """A session that was read and left no trace, and why."""

    session_id: int
    reason: str
    updated_at: int


class Held(msgspec.Struct, frozen=True):
    """A directory whose memory is being consolidated."""

    root: str
    owner: str
    """The session that runs the pipeline, or `manual:` and a token."""
    updated_at: int


class Claim(msgspec.Struct, frozen=True):
    """What a consolidation must still hold when it is done."""

    root: str
    owner: str
    job: Job | None = None
    token: str = ""


class Memories(Protocol):
    """Traces. Every method is one transaction; a forgotten session takes its trace along."""

    def sessions_read(self) -> dict[int, int]:
        """Every session that was read, with its `updated_at` at that time."""
        ...

    def save(self, trace: Trace) -> None:
        """Keep a session's trace in place of an earlier one."""
        ...

    def pass_over(self, passed: Passed) -> None:
        """Record that a session leaves no trace, so that it is not read again until it grows."""
        ...

    def holder(self, thread_id: str) -> int | None:
        """The session whose trace has that name."""
        ...

    def of_root(self, root: str, limit: int | None = None) -> list[Trace]:
        """The traces of a directory, newest first."""
        ...

    def roots(self) -> dict[str, int]:
        """Every directory that has traces, with how many."""
        ...

    def find(self, reference: str) -> Trace:
        """One trace as a person names its session, see core.session_reference."""
        ...

    def passed_over(self) -> list[Passed]:
        """Sessions that left no trace, newest first."""
        ...

    def drop(self, session_id: int) -> bool:
        """Remove a session's trace; it is not made again unless the session grows."""
        ...

    def reword(self, words: Callable[[str], str]) -> set[str]:
        """Replace words in every trace; returns the directories whose traces changed."""
        ...

    def files(self, sessions: Collection[int]) -> dict[int, list[str]]:
        """The log files of each session, the newest last."""
        ...

    def acquire(self, root: str, owner: str, now_ms: int, lease_ms: int) -> bool:
        """Lock a directory if it is free, ours already, or its lease has expired."""
        ...

    def renew(self, root: str, owner: str, now_ms: int) -> bool:
        """Extend the lease of a lock; False if it has been taken over."""
        ...

    def release(self, root: str, owner: str) -> bool:
        """Release a lock; False if this owner did not hold it."""
        ...

    def held(self) -> list[Held]:
        """Every lock, newest first."""
        ...

    def drop_locks(self, roots: Collection[str]) -> None:
        """Remove the locks of these directories."""
        ...

    def swapping(self, claim: Claim) -> AbstractContextManager[None]:
        """A transaction that begins only while lock and job are both the claim's, and ends the job.

        Neither can be taken over inside it: files may be put in place there.
        """
        ...
