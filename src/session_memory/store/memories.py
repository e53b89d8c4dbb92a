"""What a store promises about memory: the trace each session left, and who consolidates them."""

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
    """A session that was read and left nothing, and why."""

    session_id: int
    reason: str
    updated_at: int


class Held(msgspec.Struct, frozen=True):
    """A place whose memory somebody consolidates."""

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

    def known(self) -> dict[int, int]:
        """Every session that was read, with how old it was then."""
        ...

    def save(self, trace: Trace) -> None:
        """Keep a session's trace in place of an earlier one."""
        ...

    def pass_over(self, passed: Passed) -> None:
        """Note that a session leaves nothing, so that it is not read again until it grows."""
        ...

    def holder(self, thread_id: str) -> int | None:
        """The session whose trace has that name."""
        ...

    def of_root(self, root: str, limit: int | None = None) -> list[Trace]:
        """The traces of a place of work, newest first."""
        ...

    def roots(self) -> dict[str, int]:
        """Every place that has traces, with how many."""
        ...

    def find(self, reference: str) -> Trace:
        """One trace as a person names its session, see core.session_reference."""
        ...

    def passed_over(self) -> list[Passed]:
        """Sessions that left nothing, newest first."""
        ...

    def drop(self, session_id: int) -> bool:
        """Remove a session's trace; it is not made again unless the session grows."""
        ...

    def reword(self, words: Callable[[str], str]) -> set[str]:
        """Replace words in every trace; returns the places whose traces changed."""
        ...

    def files(self, sessions: Collection[int]) -> dict[int, list[str]]:
        """The log files that tell of each session, the newest last."""
        ...

    def acquire(self, root: str, owner: str, now_ms: int, lease_ms: int) -> bool:
        """Lock a place, in one statement: if free, if ours already, or if its lease ran out."""
        ...

    def renew(self, root: str, owner: str, now_ms: int) -> bool:
        """Say that the owner is at work; False when the place is somebody else's by now."""
        ...

    def release(self, root: str, owner: str) -> bool:
        """Give a place back; False when it was not this owner's."""
        ...

    def held(self) -> list[Held]:
        """Every lock, newest first."""
        ...

    def drop_locks(self, roots: Collection[str]) -> None:
        """Remove the locks of places that nobody works in any more."""
        ...

    def swapping(self, claim: Claim) -> AbstractContextManager[None]:
        """A transaction that begins only while lock and job are both the claim's, and ends the job.

        Nobody can take either over inside it: files may be put in place there.
        """
        ...
