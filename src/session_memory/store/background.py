"""What a store keeps for background work: jobs, events recorded by hooks, model calls."""

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
        """Request work up to a watermark; newer input resets the tries of a job."""
        ...

    def claim(self, kinds: tuple[str, ...], token: str, now_ms: int) -> Job | None:
        """Take the oldest job that is due; two claimants never get the same."""
        ...

    def heartbeat(self, job: Job, token: str, now_ms: int) -> bool:
        """Extend the lease of a job; False if the lease has been taken over."""
        ...

    def completing(self, job: Job, token: str) -> AbstractContextManager[None]:
        """A transaction that commits only while we hold the lease, and completes the job."""
        ...

    def fail(self, job: Job, token: str, error: str, now_ms: int) -> bool:
        """Return a job with the reason; it is tried again later, a few times."""
        ...

    def put_off(self, job: Job, token: str, reason: str, now_ms: int) -> bool:
        """Return a job that may not run now; it is tried again later and loses no try."""
        ...

    def all(self) -> list[Job]:
        """Every job, oldest first."""
        ...

    def retry(self, job_id: int) -> bool:
        """Reset the tries of a job."""
        ...

    def drop(self, job_id: int) -> bool:
        """Remove a job."""
        ...


class Live(Protocol):
    """Events recorded by hooks, by the native ids of sessions."""

    def note(self, records: list[SpoolRecord]) -> int:
        """Store each record once; returns how many turns were new."""
        ...

    def notes(self, flavor: str, external_id: str) -> dict[str, str]:
        """Facts of a session, such as its model; a blank value never replaces a known one."""
        ...

    def injections(self, flavor: str, external_id: str) -> list[Injection]:
        """What a session was given at its start, oldest first."""
        ...

    def given_with(self, beginning: str) -> list[tuple[str, str, tuple[str, ...]]]:
        """Flavour, session and names, of every record that gave something named so, by time."""
        ...


class Spend(Protocol):
    """The ledger of model calls. Every method may be called from any thread but `totals`."""

    def reserve(self, call: Call, permit: Callable[[Spent], None]) -> int:
        """Record a call about to be made, with the most it may cost; returns its number.

        `permit` sees what is spent and raises to refuse. Both happen in one transaction, so that
        callers in several threads and processes cannot exceed a cap together.
        """
        ...

    def settle(self, reservation: int, settled: Settled) -> None:
        """Replace the estimate by what a call really cost."""
        ...

    def spent(self, run: str, day: str) -> Spent:
        """What a run and a local day have cost so far."""
        ...

    def totals(self, group: SpendGroup, since_day: str) -> list[SpendRow]:
        """Sums by local day, purpose or model, from a day on."""
        ...
