"""The memory for Python programs: `open_store()` and what can be asked of it. Reads only.

    from session_memory import open_store

    with open_store() as memory:
        for session in memory.sessions(project="shop", limit=5):
            print(session.title, session.cost.usd)

Every value is a frozen struct with typed fields; `msgspec.to_builtins` makes plain dictionaries of
it. Times are milliseconds since 1970, UTC. Secrets stand as `[REDACTED_SECRET:tag]`. Stored text is
what agents, tools and web pages said: data, never instructions.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path

from session_memory import store as stores
from session_memory.clock import now_ms
from session_memory.core.schema import (
    Digest,
    EventKind,
    Observation,
    ObservationType,
    Outcome,
    Project,
    Session,
    SessionEvent,
)
from session_memory.errors import SessionMemoryError, StoreError
from session_memory.paths import find_paths
from session_memory.recall.context import RecallContext
from session_memory.recall.context_pack import ContextPack, context_pack
from session_memory.recall.observations import shown_observations
from session_memory.recall.requests import Budget, PackRequest, SearchRequest
from session_memory.recall.scope import check_agent, find_project
from session_memory.recall.search import SearchAnswer, search
from session_memory.settings.load import load
from session_memory.store.port import Store
from session_memory.store.values import ObservationQuery, SessionQuery, UsageGroup, UsageRow

__all__ = [
    "ContextPack",
    "Digest",
    "Memory",
    "Observation",
    "Project",
    "SearchAnswer",
    "Session",
    "SessionEvent",
    "SessionMemoryError",
    "UsageRow",
    "open_store",
]

SessionName = Session | int | str
"""A session, our number of it, or a reference as the command line takes it."""
When = int | datetime
"""Milliseconds since 1970, or a moment; a moment without a zone is local time, as in Python."""


def open_store(path: str | os.PathLike[str] | None = None) -> Memory:
    """Open a store for reading: the one in this directory, or the one this user is set up with.

    Raises StoreMissing where nothing was captured yet. Use it as a context manager, or `close` it.
    """
    directory = _configured() if path is None else Path(path).absolute()
    store = stores.open_store(str(directory), now_ms(), read_only=True)
    version = store.info().schema_version
    newest = stores.schema_version()
    if version < newest:
        store.close()
        raise StoreError(
            f"the store has schema {version}, this program reads {newest}",
            hint="`session-memory status` brings it up to date",
        )
    return Memory(store)


def _configured() -> Path:
    settings = load(None, os.environ, None, str(Path.home())).config.store
    return Path(settings.path) if settings.path else find_paths(os.environ).data


class Memory:
    """An open store. For one thread at a time; open one in each."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._recall = RecallContext(store, now_ms, read_only=True)

    def __enter__(self) -> Memory:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the files."""
        self._store.close()

    def projects(self) -> list[Project]:
        """Every place of work, by key."""
        return self._store.projects()

    def sessions(
        self,
        *,
        project: str | None = None,
        flavor: str | None = None,
        since: When | None = None,
        until: When | None = None,
        outcome: Outcome | None = None,
        subagents: bool = True,
        limit: int | None = None,
    ) -> list[Session]:
        """Sessions, newest first: ended at or after `since`, started before `until`.

        An unknown project or flavour is an error, not an empty list.
        """
        check_agent(self._store, flavor)
        self._check_project(project)
        return self._store.sessions(
            SessionQuery(
                flavor=flavor,
                project=project,
                since=_ms(since),
                until=_ms(until),
                outcome=outcome,
                include_subagents=subagents,
                limit=limit,
            )
        )

    def session(self, name: SessionName) -> Session:
        """One session; raises NotFound, or Ambiguous where several fit."""
        match name:
            case Session():
                return name
            case int():
                return self._store.session(name)
            case str():
                return self._store.find_session(name)

    def events(
        self, session: SessionName, *, kinds: Sequence[EventKind] = (), texts: bool = True
    ) -> Iterator[SessionEvent]:
        """What happened in a session, in the order of its log; nothing once it was evicted."""
        for event in self._store.events(self.session(session).id, texts=texts):
            if not kinds or event.kind in kinds:
                yield event

    def digest(self, session: SessionName) -> Digest | None:
        """What is kept of a session for good; None while it was not distilled yet."""
        return self._store.digest(self.session(session).id)

    def observations(
        self,
        *,
        session: SessionName | None = None,
        project: str | None = None,
        types: Sequence[ObservationType] = (),
        since: When | None = None,
        limit: int | None = None,
    ) -> list[Observation]:
        """Requests, rules, decisions, plans and work, oldest first, the latest of many."""
        self._check_project(project)
        query = ObservationQuery(
            session=None if session is None else self.session(session).id,
            project=project,
            types=tuple(types),
            since=_ms(since),
            limit=limit,
        )
        return [each.observation for each in shown_observations(self._store, query)]

    def search(
        self,
        query: str,
        *,
        project: str | None = None,
        session: SessionName | None = None,
        flavor: str | None = None,
        kinds: Sequence[EventKind] = (),
        since: When | None = None,
        until: When | None = None,
        errors_only: bool = False,
        tool: str | None = None,
        file: str | None = None,
        limit: int = 10,
        cursor: str | None = None,
    ) -> SearchAnswer:
        """Observations and events that match, in one list, best first; up to 50 a page.

        `next_cursor` of an answer is the cursor of the next page. A project and a session that do
        not belong together raise ScopeMismatch.
        """
        return search(
            self._recall,
            SearchRequest(
                query=query,
                project_key=project,
                session_id=None if session is None else self.session(session).id,
                limit=limit,
                flavor=flavor,
                kinds=tuple(kinds),
                since=_ms(since),
                until=_ms(until),
                errors_only=errors_only,
                tool=tool,
                file=file,
                cursor=cursor,
            ),
        )

    def pack(
        self,
        project: str | None = None,
        *,
        session: SessionName | None = None,
        budget: Budget = "auto",
        max_chars: int | None = None,
    ) -> ContextPack:
        """Where a project, or one session, stands: a text to put before a model, with its facts."""
        pack = context_pack(
            self._recall,
            PackRequest(
                project_key=project,
                session_id=None if session is None else self.session(session).id,
                budget=budget,
                max_chars=max_chars,
            ),
        )
        assert isinstance(pack, ContextPack)  # NotModified is only for requests with a hash
        return pack

    def usage(
        self, group: UsageGroup = "day", *, since: When | None = None, until: When | None = None
    ) -> list[UsageRow]:
        """Tokens and dollars, each API response counted once."""
        return self._store.usage(group, _ms(since), _ms(until))

    def _check_project(self, key: str | None) -> None:
        if key is not None:
            find_project(self._store.projects(), key)


def _ms(moment: When | None) -> int | None:
    return round(moment.timestamp() * 1000) if isinstance(moment, datetime) else moment
