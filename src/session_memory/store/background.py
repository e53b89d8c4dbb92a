"""What a store promises about background work and about what hooks told."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Protocol

from session_memory.core.jobs import Job
from session_memory.core.spend import Call, Settled, SpendGroup, SpendRow, Spent
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

    def put_off(self, job: Job, token: str, reason: str, now_ms: int) -> bool:
        """Give a job back that may not be done now; it is tried again later and loses no try."""
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


class Spend(Protocol):
    """The ledger of model calls. Every method may be called from any thread but `totals`."""

    def reserve(self, call: Call, permit: Callable[[Spent], None]) -> int:
        """Note a call about to be made, with the most it may cost; returns its number.

        `permit` sees what is spent and raises to refuse; in one transaction with the noting, so
        that callers in several threads and processes cannot pass a cap together.
        """
        ...

    def settle(self, reservation: int, settled: Settled) -> None:
        """Put what a call really cost in place of what it might have."""
        ...

    def spent(self, run: str, day: str) -> Spent:
        """What a run and a local day have cost so far."""
        ...

    def totals(self, group: SpendGroup, since_day: str) -> list[SpendRow]:
        """Sums by local day, purpose or model, from a day on."""
        ...
