"""Background work as values: what a job is, and in which state it is at a moment."""

from __future__ import annotations

from typing import Literal

import msgspec

RETRIES = 3
RETRY_DELAYS_MS = (60_000, 600_000, 3_600_000)
"""How long to wait after the first, second and third failure."""
PUT_OFF_MS = 3_600_000
"""How long a job waits when the budget does not allow it now; this counts as no attempt."""
LEASE_MS = 600_000
"""How long a worker may be silent before another may take its job."""

JobState = Literal["due", "running", "waiting", "done", "failed"]


class Job(msgspec.Struct, frozen=True):
    """One piece of work. `input` and `success` are watermarks: done means that they met."""

    id: int
    kind: str
    key: str
    input: int
    success: int | None = None
    owner: str | None = None
    lease_until: int | None = None
    heartbeat_at: int | None = None
    retry_at: int | None = None
    retries_left: int = RETRIES
    last_error: str | None = None
    session_id: int | None = None
    enqueued_at: int = 0


def state_of(job: Job, now_ms: int) -> JobState:
    """Where a job stands; an expired lease makes it due again."""
    if job.success is not None and job.success >= job.input:
        return "done"
    if job.lease_until is not None and job.lease_until > now_ms:
        return "running"
    if job.retries_left <= 0:
        return "failed"
    if job.retry_at is not None and job.retry_at > now_ms:
        return "waiting"
    return "due"


def retry_delay(retries_left: int) -> int:
    """How long to wait before the next try, longer each time."""
    failures = max(0, RETRIES - retries_left)
    return RETRY_DELAYS_MS[min(failures, len(RETRY_DELAYS_MS) - 1)]
