"""What a store promises about memory: the trace each session left, and which were worth none."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Protocol

import msgspec


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
        """One trace by its thread id, a unique prefix of it, or the session's number."""
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
