"""Closure checks, and the files that packs were written into."""

from __future__ import annotations

from collections.abc import Iterable

from session_memory.core.schema import EXCLUDED_STATUSES, Observation
from session_memory.core.work_state import derive_state, judge_closure
from session_memory.store.scopes import Closure, ContextSync
from session_memory.store.sqlite.connection import Database, for_each, rows, transaction
from session_memory.store.sqlite.projects import FAMILY

_EXCLUDED = ", ".join(f"'{status}'" for status in sorted(EXCLUDED_STATUSES))


class SqliteClosures:
    """See store.scopes.Closures."""

    def __init__(self, connection: Database) -> None:
        self._db = connection

    def record(self, project_id: int, closure: Closure) -> None:
        """See store.scopes.Closures."""
        with transaction(self._db):
            _insert(self._db, project_id, closure)

    def all(self, project_id: int, session_id: int | None = None) -> list[Closure]:
        """What is known of a project, or of one session of it, oldest first.

        What was noticed at capture belongs to the project its session is in now.
        """
        selected = rows(
            self._db,
            f"{FAMILY} SELECT c.at, c.kind, c.done, c.reason, c.session_id FROM closure_check c"
            " LEFT JOIN session s ON s.id = c.session_id"
            " WHERE coalesce(c.project_id, s.project_id) IN family"
            " AND (?2 IS NULL OR c.session_id = ?2) ORDER BY c.at, c.id",
            (project_id, session_id),
        )
        return [Closure(row[0], row[1], bool(row[2]), row[3], row[4]) for row in selected]


class SqliteSyncs:
    """See store.scopes.Syncs."""

    def __init__(self, connection: Database) -> None:
        self._db = connection

    def record(self, project_id: int, sync: ContextSync) -> None:
        """Record that a file was written or skipped."""
        with transaction(self._db):
            self._db.execute(
                "INSERT INTO context_sync (at, project_id, path, pack_hash, skipped, reason)"
                " VALUES (?, ?, ?, ?, ?, ?)",
                (sync.at, project_id, sync.path, sync.pack_hash, sync.skipped, sync.reason),
            )

    def all(self, project_id: int) -> list[ContextSync]:
        """Every one, oldest first."""
        selected = rows(
            self._db,
            f"{FAMILY} SELECT at, path, pack_hash, skipped, reason FROM context_sync"
            " WHERE project_id IN family ORDER BY at, id",
            (project_id,),
        )
        return [ContextSync(row[0], row[1], row[2], bool(row[3]), row[4]) for row in selected]


def note_mismatches(db: Database, sessions: Iterable[int]) -> None:
    """Record which of these sessions claimed completion while work was open (OPS-05).

    It follows from what was observed, so that reading a session again leaves one row, or none.
    """
    db.executemany(
        "DELETE FROM closure_check WHERE session_id = ? AND kind = 'mismatch'",
        [(session_id,) for session_id in sessions],
    )
    claims = (
        "SELECT session_id FROM observation WHERE session_id = ? AND type = 'completion_claim'"
        " LIMIT 1"
    )
    for (session_id,) in for_each(db, claims, sessions):
        _note_mismatch(db, session_id)


def _note_mismatch(db: Database, session_id: int) -> None:
    selected = rows(
        db,
        "SELECT type, status, text, importance, session_id, event_id, origin, hash, at, source"
        f" FROM observation WHERE session_id = ? AND status NOT IN ({_EXCLUDED})"
        " ORDER BY at IS NOT NULL, at, id",
        (session_id,),
    )
    state = derive_state(Observation(*row) for row in selected)
    verdict = judge_closure(state)
    if verdict.mismatch and state.claim is not None:
        at = state.claim.at or 0
        _insert(db, None, Closure(at, "mismatch", False, verdict.primary, session_id))


def _insert(db: Database, project_id: int | None, closure: Closure) -> None:
    db.execute(
        "INSERT INTO closure_check (at, kind, project_id, session_id, done, reason)"
        " VALUES (?, ?, ?, ?, ?, ?)",
        (
            closure.at,
            closure.kind,
            project_id,
            closure.session_id,
            closure.done,
            closure.reason,
        ),
    )
