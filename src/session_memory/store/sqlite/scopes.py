"""Recall's questions: sessions and observations of a scope, by the indexes that name it."""

from __future__ import annotations

from collections.abc import Generator, Iterable
from contextlib import contextmanager
from typing import Any

import apsw
import msgspec

from session_memory.core.schema import (
    EXCLUDED_STATUSES,
    Cure,
    Observation,
    ObservationType,
    Project,
    RuleStatement,
    SessionEvent,
)
from session_memory.errors import StoreLocked
from session_memory.store.failures import is_damage
from session_memory.store.scopes import ScopeTotals, SessionCounts, SessionLine
from session_memory.store.search_rank import Hit
from session_memory.store.sqlite import projects
from session_memory.store.sqlite.connection import (
    Database,
    Row,
    check_version,
    damaged,
    rows,
)
from session_memory.store.sqlite.ids import SEQ_BITS, SEQ_MASK, event_range
from session_memory.store.sqlite.queries import events_by_id
from session_memory.store.sqlite.search_scope import inside_json
from session_memory.store.values import TextFilter

_MOST_EVENTS = 20_000
"""Events whose paths are listed where a requested path is unknown."""
_LINE = """
SELECT s.id, s.flavor, s.external_id, s.project_id, s.started_at, s.ended_at, s.cwd, s.title,
  s.client_version, s.source_kind, s.parent_external_id, s.low_value,
  s.metadata ->> 'operational_label', s.metadata ->> 'internal_prompt_suppressed',
  s.metadata ->> 'project_resolution_source', s.observed_bytes
FROM session s
"""
_COLUMNS = "type, status, text, importance, session_id, event_id, origin, hash, at, source"
_EXCLUDED = ", ".join(f"'{status}'" for status in sorted(EXCLUDED_STATUSES))
_RULES = msgspec.json.Decoder(tuple[RuleStatement, ...])
_CURES = msgspec.json.Decoder(tuple[Cure, ...])
_LATEST = "ORDER BY at IS NOT NULL DESC, at DESC, id DESC"
RESIDENT_KIB = 12_000
"""Pages that a server keeps of the database."""
_ALL = 2**62
_THESE = "session_id IN (SELECT value FROM json_each(?))"
_COUNTS = f"""
SELECT d.session_id, coalesce(d.body ->> 'turns', 0),
  (SELECT count(*) FROM observation o WHERE o.session_id = d.session_id
    AND o.status NOT IN ({_EXCLUDED})),
  (SELECT o.text FROM observation o WHERE o.session_id = d.session_id AND o.type = 'user_request'
    ORDER BY o.status IN ({_EXCLUDED}), o.at, o.id LIMIT 1)
FROM digest d WHERE d.{_THESE}
"""


class SqliteScopes:
    """See store.scopes.Scopes."""

    def __init__(self, connection: Database) -> None:
        self._db = connection

    def lines(self, project_id: int) -> list[SessionLine]:
        """The sessions of a project, latest turn first."""
        selected = rows(
            self._db,
            f"{_LINE} WHERE s.project_id = ?"
            " AND (s.event_count > 0 OR s.raw_events > 0 OR s.state = 'raw_evicted')"
            " ORDER BY s.ended_at IS NULL, s.ended_at DESC, s.id DESC",
            (project_id,),
        )
        return [_line(row) for row in selected]

    def line(self, session_id: int) -> SessionLine | None:
        """One session."""
        selected = rows(self._db, f"{_LINE} WHERE s.id = ?", (session_id,))
        return _line(selected[0]) if selected else None

    def some_lines(self, sessions: list[int]) -> list[SessionLine]:
        """These sessions, in no particular order."""
        query = f"{_LINE} WHERE s.id IN (SELECT value FROM json_each(?))"
        return [_line(row) for row in rows(self._db, query, (_list(sessions),))]

    def project(self, key: str) -> Project | None:
        """See store.scopes.Scopes."""
        return projects.called(self._db, key)

    def some_projects(self, ids: Iterable[int]) -> dict[int, Project]:
        """See store.scopes.Scopes."""
        return {project.id: project for project in projects.some(self._db, ids)}

    def counts(self, sessions: list[int]) -> dict[int, SessionCounts]:
        """How much each of these sessions said."""
        selected = rows(self._db, _COUNTS, (_list(sessions),))
        return {row[0]: SessionCounts(*row[1:]) for row in selected}

    def totals(self, sessions: list[int]) -> ScopeTotals:
        """How much they said together, without what is of an excluded status."""
        (count, chars, last), *_ = rows(
            self._db,
            "SELECT count(*), coalesce(sum(length(text)), 0), max(at) FROM observation"
            f" WHERE {_THESE} AND status NOT IN ({_EXCLUDED})",
            (_list(sessions),),
        )
        return ScopeTotals(count, chars, last)

    def turns(self, sessions: list[int]) -> int:
        """How many turns they had together."""
        (turns,), *_ = rows(
            self._db,
            f"SELECT coalesce(sum(body ->> 'turns'), 0) FROM digest WHERE {_THESE}",
            (_list(sessions),),
        )
        return int(turns)

    def observed(
        self, sessions: list[int], types: tuple[ObservationType, ...], limit: int | None = None
    ) -> list[Observation]:
        """What these sessions said, oldest first; no excluded status.

        With a limit the latest so many, and the latest of each session that would have none.
        """
        selected = rows(
            self._db,
            f"SELECT {_COLUMNS} FROM (SELECT *, row_number() OVER ({_LATEST}) AS place,"
            f" row_number() OVER (PARTITION BY session_id {_LATEST}) AS own_place FROM observation"
            f" WHERE {_THESE} AND status NOT IN ({_EXCLUDED})"
            " AND type IN (SELECT value FROM json_each(?)))"
            f" WHERE place <= ? OR own_place = 1 {_LATEST}",
            (_list(sessions), _list(types), _ALL if limit is None else limit),
        )
        return [Observation(*row) for row in reversed(selected)]

    def rules(self, sessions: list[int]) -> dict[int, tuple[RuleStatement, ...]]:
        """What users said in these sessions that may be a rule."""
        selected = rows(
            self._db,
            f"SELECT session_id, body -> '$.rules' FROM digest WHERE {_THESE}"
            " AND json_array_length(body, '$.rules')",
            (_list(sessions),),
        )
        return {session: _RULES.decode(said) for session, said in selected}

    def cures(self, sessions: list[int]) -> dict[int, tuple[Cure, ...]]:
        """What made failing things work in these sessions."""
        selected = rows(
            self._db,
            f"SELECT session_id, body -> '$.cures' FROM digest WHERE {_THESE}"
            " AND json_array_length(body, '$.cures')",
            (_list(sessions),),
        )
        return {session: _CURES.decode(body) for session, body in selected}

    def observation(self, name: str) -> Observation | None:
        """One observation by its hash, whatever its status."""
        selected = rows(
            self._db, f"SELECT {_COLUMNS} FROM observation WHERE hash = ? LIMIT 1", (name,)
        )
        return Observation(*selected[0]) if selected else None

    def find(self, query: str, where: TextFilter | None = None) -> list[Hit]:
        """See store.scopes.Scopes."""
        from session_memory.store.sqlite import search  # most questions search nothing

        return search.find(self._db, query, where)

    def word_counts(self, words: tuple[str, ...]) -> dict[str, int]:
        """See store.scopes.Scopes."""
        from session_memory.store.sqlite import search

        return search.word_counts(self._db, words)

    def some_observations(self, ids: list[int]) -> dict[int, Observation]:
        """Observations by the number of their row, as a search names them."""
        query = (
            f"SELECT id, {_COLUMNS} FROM observation WHERE id IN (SELECT value FROM json_each(?))"
        )
        return {row[0]: Observation(*row[1:]) for row in rows(self._db, query, (_list(ids),))}

    def has_tool(self, name: str) -> bool:
        """Whether any event is a call of this tool or its result."""
        query = "SELECT 1 FROM event WHERE tool = ? LIMIT 1"
        return bool(rows(self._db, query, (name,)))

    def has_path(self, part: str, where: TextFilter) -> bool:
        """See store.scopes.Scopes."""
        events, bindings = _events_in(where)
        query = f"SELECT 1 FROM {events} AND instr(e.files, ?) > 0 LIMIT 1"
        return bool(rows(self._db, query, (*bindings, inside_json(part))))

    def recent_paths(self, where: TextFilter) -> list[str]:
        """See store.scopes.Scopes."""
        events, bindings = _events_in(where)
        newest = f"SELECT e.id, e.files FROM {events} AND e.files IS NOT NULL ORDER BY e.id DESC"
        some = f"({newest} LIMIT {_MOST_EVENTS}) n, json_each(n.files) f"
        return [row[0] for row in rows(self._db, f"SELECT DISTINCT f.value FROM {some}", bindings)]

    def events(self, ids: list[int]) -> list[SessionEvent]:
        """See store.scopes.Scopes."""
        events = {event.id: event for event in events_by_id(self._db, ids)}
        return [events[event_id] for event_id in ids if event_id in events]

    def revision(self) -> str:
        """What others committed, and what this connection wrote itself."""
        ((other,),) = rows(self._db, "PRAGMA data_version")
        ((own,),) = rows(self._db, "SELECT total_changes()")
        return f"{other}.{own}"

    def check_current(self) -> None:
        """See store.scopes.Scopes."""
        check_version(self._db)

    @contextmanager
    def snapshot(self) -> Generator[None]:
        """See store.scopes.Scopes."""
        # Who asks for one stays open for hours: what it reads again is in the system's memory.
        self._db.execute(f"PRAGMA cache_size = -{RESIDENT_KIB}")
        try:
            self._db.execute("BEGIN")
            yield
        except (apsw.BusyError, apsw.LockedError):
            raise StoreLocked("another process holds the store") from None
        except apsw.Error as error:
            if is_damage(error):
                raise damaged(error) from None
            raise
        finally:
            if self._db.in_transaction:  # nothing was written: only the view is let go of
                self._db.execute("ROLLBACK")


def _line(row: Row) -> SessionLine:
    return SessionLine(
        *row[:13], suppressed=bool(row[13]), resolved_by=row[14], observed_bytes=row[15]
    )


def _list(values: Any) -> str:
    return msgspec.json.encode(values).decode()


def _events_in(where: TextFilter) -> tuple[str, tuple[int, ...]]:
    """The events of a session, of a project or of all, as what stands behind FROM."""
    if where.session is not None:
        return "event e WHERE e.id BETWEEN ? AND ?", event_range(where.session)
    if where.project_id is None:
        return "event e WHERE 1", ()
    own = f"e.id BETWEEN s.id << {SEQ_BITS} AND (s.id << {SEQ_BITS}) + {SEQ_MASK}"
    return f"session s CROSS JOIN event e ON {own} WHERE s.project_id = ?", (where.project_id,)
