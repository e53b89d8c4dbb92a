"""The table of background work: claimed by one statement, committed only by its owner."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

import msgspec

from session_memory.core.jobs import LEASE_MS, PUT_OFF_MS, RETRIES, Job, retry_delay
from session_memory.errors import Refused
from session_memory.store.sqlite.connection import Database, rows, transaction

_COLUMNS = (
    "id, kind, key, input, success, owner, lease_until, heartbeat_at, retry_at, retries_left,"
    " last_error, session_id, enqueued_at"
)


class SqliteJobs:
    """See store.port.Jobs."""

    def __init__(self, connection: Database) -> None:
        self._db = connection

    def enqueue(
        self, kind: str, key: str, watermark: int, now_ms: int, session_id: int | None = None
    ) -> bool:
        """Request work up to a watermark; newer input resets the tries of a job."""
        with transaction(self._db):
            changed = self._db.execute(
                "INSERT INTO job (kind, key, input, retries_left, session_id, enqueued_at)"
                " VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (kind, key) DO UPDATE SET"
                " input = excluded.input, retries_left = excluded.retries_left, retry_at = NULL,"
                " last_error = NULL, enqueued_at = excluded.enqueued_at,"
                " session_id = coalesce(excluded.session_id, session_id)"
                " WHERE excluded.input > input RETURNING id",
                (kind, key, watermark, RETRIES, session_id, now_ms),
            ).fetchall()
        return bool(changed)

    def claim(self, kinds: tuple[str, ...], token: str, now_ms: int) -> Job | None:
        """Take the oldest job that is due, in one statement: two claimants never get the same.

        Taking over from an owner that fell silent costs a try, so that a job which kills its worker
        does not kill every worker.
        """
        with transaction(self._db):
            claimed = self._db.execute(
                "UPDATE job SET owner = ?, lease_until = ? + ?, heartbeat_at = ?,"
                " retries_left = retries_left - (lease_until IS NOT NULL) WHERE id = ("
                " SELECT id FROM job WHERE kind IN (SELECT value FROM json_each(?))"
                " AND (success IS NULL OR success < input) AND retries_left > 0"
                " AND (retry_at IS NULL OR retry_at <= ?)"
                " AND (lease_until IS NULL OR lease_until <= ?)"
                f" ORDER BY enqueued_at, id LIMIT 1) RETURNING {_COLUMNS}",
                (
                    token,
                    now_ms,
                    LEASE_MS,
                    now_ms,
                    msgspec.json.encode(kinds).decode(),
                    now_ms,
                    now_ms,
                ),
            ).fetchall()
        return Job(*claimed[0]) if claimed else None

    def heartbeat(self, job: Job, token: str, now_ms: int) -> bool:
        """See store.background.Jobs."""
        with transaction(self._db):
            renewed = self._db.execute(
                "UPDATE job SET lease_until = ?, heartbeat_at = ? WHERE id = ? AND owner = ?"
                " RETURNING id",
                (now_ms + LEASE_MS, now_ms, job.id, token),
            ).fetchall()
        return bool(renewed)

    @contextmanager
    def completing(self, job: Job, token: str) -> Generator[None]:
        """See store.background.Jobs."""
        with transaction(self._db):
            yield
            done = self._db.execute(
                "UPDATE job SET success = ?, owner = NULL, lease_until = NULL, retry_at = NULL,"
                " last_error = NULL, retries_left = ? WHERE id = ? AND owner = ? RETURNING id",
                (job.input, RETRIES, job.id, token),
            ).fetchall()
            if not done:
                raise Refused(f"job {job.kind} {job.key} was taken over by another worker")

    def fail(self, job: Job, token: str, error: str, now_ms: int) -> bool:
        """See store.background.Jobs."""
        with transaction(self._db):
            gave = self._db.execute(
                "UPDATE job SET owner = NULL, lease_until = NULL, retries_left = retries_left - 1,"
                " retry_at = ?, last_error = ? WHERE id = ? AND owner = ? RETURNING id",
                (now_ms + retry_delay(job.retries_left), error[:500], job.id, token),
            ).fetchall()
        return bool(gave)

    def put_off(self, job: Job, token: str, reason: str, now_ms: int) -> bool:
        """Return a job that may not run now; it loses no try."""
        with transaction(self._db):
            gave = self._db.execute(
                "UPDATE job SET owner = NULL, lease_until = NULL, retry_at = ?, last_error = ?"
                " WHERE id = ? AND owner = ? RETURNING id",
                (now_ms + PUT_OFF_MS, reason[:500], job.id, token),
            ).fetchall()
        return bool(gave)

    def all(self) -> list[Job]:
        """Every job, oldest first."""
        return [
            Job(*row)
            for row in rows(self._db, f"SELECT {_COLUMNS} FROM job ORDER BY enqueued_at, id")
        ]

    def retry(self, job_id: int) -> bool:
        """Reset the tries of a job."""
        with transaction(self._db):
            changed = self._db.execute(
                "UPDATE job SET retries_left = ?, retry_at = NULL, lease_until = NULL,"
                " owner = NULL, last_error = NULL WHERE id = ? RETURNING id",
                (RETRIES, job_id),
            ).fetchall()
        return bool(changed)

    def drop(self, job_id: int) -> bool:
        """Remove a job; a worker that runs it cannot commit any more."""
        with transaction(self._db):
            deleted = self._db.execute(
                "DELETE FROM job WHERE id = ? RETURNING id", (job_id,)
            ).fetchall()
        return bool(deleted)
