"""The traces of sessions, in one table: a row without text is a session that left nothing.

Next to it is recorded who consolidates which place; swapping files needs lock, job and transaction.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Generator
from contextlib import contextmanager

import msgspec

from session_memory.core.jobs import RETRIES
from session_memory.core.session_reference import Lookup, SessionName, find
from session_memory.errors import NotFound, Refused
from session_memory.store.memories import Claim, Held, Passed, Trace
from session_memory.store.sqlite.connection import Database, rows, transaction
from session_memory.store.sqlite.rewrite import note_erasing

_COLUMNS = "session_id, thread_id, root, trace_summary, memory_summary, updated_at"
_TRACED_SESSIONS = (
    "SELECT session_id, external_id, flavor, title FROM trace"
    " JOIN session ON session.id = session_id WHERE passed_over IS NULL"
)
_UPSERT = (
    f"INSERT INTO trace ({_COLUMNS}, passed_over) SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7"
    " WHERE EXISTS (SELECT 1 FROM session WHERE id = ?1) ON CONFLICT (session_id) DO UPDATE SET"
    " thread_id = excluded.thread_id, root = excluded.root,"
    " trace_summary = excluded.trace_summary, memory_summary = excluded.memory_summary,"
    " updated_at = excluded.updated_at, passed_over = excluded.passed_over RETURNING 1"
)


class SqliteMemories:
    """See store.memories.Memories."""

    def __init__(self, connection: Database) -> None:
        self._db = connection

    def sessions_read(self) -> dict[int, int]:
        """Every session that was read, with how old it was then."""
        return dict(rows(self._db, "SELECT session_id, updated_at FROM trace"))

    def save(self, trace: Trace) -> None:
        """Keep a session's trace in place of an earlier one."""
        self._put((*msgspec.structs.astuple(trace), None))

    def pass_over(self, passed: Passed) -> None:
        """Record that a session leaves no trace."""
        number = passed.session_id
        self._put((number, f"none.{number}", "", "", "", passed.updated_at, passed.reason))

    def _put(self, row: tuple[object, ...]) -> None:
        with transaction(self._db):
            if not self._db.execute(_UPSERT, row).fetchall():
                raise NotFound(f"session {row[0]} is gone: it was forgotten meanwhile")

    def holder(self, thread_id: str) -> int | None:
        """The session whose trace has that name."""
        selected = rows(self._db, "SELECT session_id FROM trace WHERE thread_id = ?", (thread_id,))
        return int(selected[0][0]) if selected else None

    def of_root(self, root: str, limit: int | None = None) -> list[Trace]:
        """The traces of a place of work, newest first."""
        selected = rows(
            self._db,
            f"SELECT {_COLUMNS} FROM trace WHERE root = ? AND passed_over IS NULL"
            " ORDER BY updated_at DESC, session_id DESC LIMIT ?",
            (root, -1 if limit is None else limit),
        )
        return [Trace(*row) for row in selected]

    def roots(self) -> dict[str, int]:
        """Every place that has traces, with how many."""
        selected = rows(
            self._db,
            "SELECT root, count(*) FROM trace WHERE passed_over IS NULL GROUP BY root"
            " ORDER BY root",
        )
        return dict(selected)

    def find(self, reference: str) -> Trace:
        """By the same rules as a session, see core.session_reference."""
        lists = "`session-memory project memory show` lists them"
        number = find(reference, Lookup(self._numbered, self._called, "trace", lists))
        (row,) = rows(self._db, f"SELECT {_COLUMNS} FROM trace WHERE session_id = ?", (number,))
        return Trace(*row)

    def _numbered(self, number: int) -> list[SessionName]:
        return [
            SessionName(*row)
            for row in rows(self._db, f"{_TRACED_SESSIONS} AND session_id = ?", (number,))
        ]

    def _called(self, name: str) -> list[SessionName]:
        """By the agent's own id, or by the name the trace has in file names."""
        begins = "substr({0}, 1, length(?1)) = ?1".format
        either = f"({begins('external_id')} OR {begins('thread_id')})"
        selected = rows(self._db, f"{_TRACED_SESSIONS} AND {either} ORDER BY session_id", (name,))
        return [SessionName(*row) for row in selected]

    def passed_over(self) -> list[Passed]:
        """Sessions that left nothing, newest first."""
        selected = rows(
            self._db,
            "SELECT session_id, passed_over, updated_at FROM trace WHERE passed_over IS NOT NULL"
            " ORDER BY updated_at DESC, session_id DESC",
        )
        return [Passed(*row) for row in selected]

    def drop(self, session_id: int) -> bool:
        """Remove a session's trace; it is not made again unless the session grows."""
        with transaction(self._db):
            changed = self._db.execute(
                "UPDATE trace SET trace_summary = '', memory_summary = '', root = '',"
                " thread_id = 'none.' || session_id, passed_over = 'removed by the user'"
                " WHERE session_id = ? AND passed_over IS NULL RETURNING 1",
                (session_id,),
            ).fetchall()
            if changed:
                note_erasing(self._db)
        return bool(changed)

    def reword(self, words: Callable[[str], str]) -> set[str]:
        """Replace words in every trace; returns the places whose traces changed."""
        changed: set[str] = set()
        with transaction(self._db):
            for session_id, root, *texts in rows(
                self._db,
                "SELECT session_id, root, trace_summary, memory_summary FROM trace"
                " WHERE passed_over IS NULL",
            ):
                new = [words(text) for text in texts]
                if new != texts:
                    self._db.execute(
                        "UPDATE trace SET trace_summary = ?, memory_summary = ?"
                        " WHERE session_id = ?",
                        (*new, session_id),
                    )
                    changed.add(root)
            if changed:
                note_erasing(self._db)
        return changed

    def files(self, sessions: Collection[int]) -> dict[int, list[str]]:
        """See store.memories.Memories."""
        paths: dict[int, list[str]] = {session: [] for session in sessions}
        wanted = msgspec.json.encode(sorted(paths)).decode()
        for session_id, path in rows(
            self._db,
            "SELECT ss.session_id, s.path FROM json_each(?) j"
            " JOIN session_source ss ON ss.session_id = j.value"
            " JOIN source s ON s.id = ss.source_id ORDER BY ss.session_id, s.id",
            (wanted,),
        ):
            paths[session_id].append(path)
        return paths

    def acquire(self, root: str, owner: str, now_ms: int, lease_ms: int) -> bool:
        """Lock a place, in one statement: if free, if ours already, or if its lease ran out."""
        with transaction(self._db):
            got = self._db.execute(
                "INSERT INTO memory_consolidation_locks (cwd, working_thread_id, updated_at)"
                " VALUES (?1, ?2, ?3) ON CONFLICT (cwd) DO UPDATE SET"
                " working_thread_id = excluded.working_thread_id, updated_at = excluded.updated_at"
                " WHERE working_thread_id = excluded.working_thread_id"
                " OR updated_at <= excluded.updated_at - ?4 RETURNING 1",
                (root, owner, now_ms, max(lease_ms, 0)),
            ).fetchall()
        return bool(got)

    def renew(self, root: str, owner: str, now_ms: int) -> bool:
        """See store.memories.Memories."""
        with transaction(self._db):
            renewed = self._db.execute(
                "UPDATE memory_consolidation_locks SET updated_at = ?"
                " WHERE cwd = ? AND working_thread_id = ? RETURNING 1",
                (now_ms, root, owner),
            ).fetchall()
        return bool(renewed)

    def release(self, root: str, owner: str) -> bool:
        """Release a lock; False if this owner did not hold it."""
        with transaction(self._db):
            gone = self._db.execute(
                "DELETE FROM memory_consolidation_locks WHERE cwd = ? AND working_thread_id = ?"
                " RETURNING 1",
                (root, owner),
            ).fetchall()
        return bool(gone)

    def held(self) -> list[Held]:
        """Every lock, newest first."""
        selected = rows(
            self._db,
            "SELECT cwd, working_thread_id, updated_at FROM memory_consolidation_locks"
            " ORDER BY updated_at DESC, cwd",
        )
        return [Held(*row) for row in selected]

    def drop_locks(self, roots: Collection[str]) -> None:
        """See store.memories.Memories."""
        with transaction(self._db):
            self._db.executemany(
                "DELETE FROM memory_consolidation_locks WHERE cwd = ?", [(root,) for root in roots]
            )

    @contextmanager
    def swapping(self, claim: Claim) -> Generator[None]:
        """A transaction that begins only while lock and job are both the claim's."""
        job = claim.job
        with transaction(self._db):
            if not rows(
                self._db,
                "SELECT 1 FROM memory_consolidation_locks WHERE cwd = ? AND working_thread_id = ?",
                (claim.root, claim.owner),
            ):
                raise Refused("another run took this memory over")
            if job is not None and not rows(
                self._db, "SELECT 1 FROM job WHERE id = ? AND owner = ?", (job.id, claim.token)
            ):
                raise Refused(f"job {job.kind} was taken over by another worker")
            yield
            if job is not None:
                # It names a place, and nothing of it is needed any more, unless more was asked.
                self._db.execute("DELETE FROM job WHERE id = ? AND input <= ?", (job.id, job.input))
                self._db.execute(
                    "UPDATE job SET success = ?, owner = NULL, lease_until = NULL, retry_at = NULL,"
                    " last_error = NULL, retries_left = ? WHERE id = ?",
                    (job.input, RETRIES, job.id),
                )
