"""What a store promises about background work and about what hooks told."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Protocol

from session_memory.core.jobs import Job
from session_memory.core.spool import SpoolRecord
from session_memory.store.values import Injection


class Jobs(Protocol):
    """Background work. Every method is one transaction; a job has one owner at a time."""

    def enqueue(
        self, kind: str, key: str, watermark: int, now_ms: int, session_id: int | None = None
    ) -> bool:
        """Ask for work up to a watermark; newer input gives a job its tries back."""
        ...

    def claim(self, kinds: tuple[str, ...], token: str, now_ms: int) -> Job | None:
        """Take the oldest job that is due; two claimants never get the same."""
        ...

    def heartbeat(self, job: Job, token: str, now_ms: int) -> bool:
        """Keep a job; False when it is somebody else's by now."""
        ...

    def completing(self, job: Job, token: str) -> AbstractContextManager[None]:
        """A transaction that commits only while the job is ours, and ends it."""
        ...

    def fail(self, job: Job, token: str, error: str, now_ms: int) -> bool:
        """Give a job back with the reason; it is tried again later, a few times."""
        ...

    def all(self) -> list[Job]:
        """Every job, oldest first."""
        ...

    def retry(self, job_id: int) -> bool:
        """Give a job all its tries back."""
        ...

    def drop(self, job_id: int) -> bool:
        """Remove a job."""
        ...


class Live(Protocol):
    """What hooks told of sessions, by the agent's own names."""

    def note(self, records: list[SpoolRecord]) -> int:
        """Take in what records tell, once; returns how many turns were new."""
        ...

    def notes(self, flavor: str, external_id: str) -> dict[str, str]:
        """The small facts known of a session; a blank one never replaced a known one."""
        ...

    def injections(self, flavor: str, external_id: str) -> list[Injection]:
        """What was given to a session, oldest first."""
        ...
