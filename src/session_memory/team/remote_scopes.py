"""The facets of a hub that is read as a store: those that recall and `fix` use."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any

from session_memory.core.schema import (
    Cure,
    Observation,
    ObservationType,
    Project,
    RuleStatement,
    SessionEvent,
)
from session_memory.core.sharing import wire
from session_memory.errors import NotFound
from session_memory.store.loop import Failures
from session_memory.store.scopes import ScopeTotals, SessionCounts, SessionLine
from session_memory.store.search_rank import Hit
from session_memory.store.values import TextFilter
from session_memory.team.evidence import read_cure
from session_memory.team.hub_values import (
    cures_in,
    event_of,
    failure_of,
    line_of,
    number_of,
    observation_of,
    renamed,
)

if TYPE_CHECKING:
    from session_memory.team.remote_store import RemoteStore

KINDS = ("events", "observation", "cure")


class RemoteScopes:
    """Sessions and observations that a hub finds."""

    def __init__(self, store: RemoteStore) -> None:
        self._store = store

    def __getattr__(self, name: str) -> Any:
        """What the hub does not answer."""
        return getattr(self._store.copy.scopes, name)

    def find(self, query: str, where: TextFilter | None = None) -> list[Hit]:
        """What the hub finds, in its order.

        Filters by agent, kind, tool, file and failure are applied to its best answers.
        """
        store, where = self._store, where or TextFilter()
        kinds = ("events",) if where.of_events else KINDS
        hits: list[Hit] = []
        seen: set[int] = set()
        for remote_hit in store.ask(query, where, kinds).hits:
            if remote_hit.session is None:
                continue
            hit = self._hit(remote_hit, number_of(remote_hit.session))
            if hit is None or hit.event in seen or not self._passes(hit, where):
                continue
            seen |= {hit.event} if hit.event is not None else set()
            hits.append(hit)
        return hits

    def _hit(self, remote_hit: wire.Hit, session: int) -> Hit | None:
        store = self._store
        if remote_hit.kind == "events" and remote_hit.event is not None:
            event = event_of(session, remote_hit.event, remote_hit.text)
            store.found_events[event.id] = event
            return Hit(session, remote_hit.score, event.id)
        if remote_hit.kind == "cure":
            cure = read_cure(remote_hit.body)
            if cure is None:
                return None
            store.found_cures.setdefault(session, []).append(cure)
            event = failure_of(session, cure, remote_hit.at)
            store.found_events.setdefault(event.id, event)
            return Hit(session, remote_hit.score, event.id)
        made = observation_of(
            remote_hit.body, remote_hit.text, session, (remote_hit.key, remote_hit.at)
        )
        if made is None:
            return None
        number = int(remote_hit.key[:15], 16)
        store.found_observations[number] = made
        return Hit(session, remote_hit.score, None, number)

    def _passes(self, hit: Hit, where: TextFilter) -> bool:
        store = self._store
        if where.flavor is not None and store.session(hit.session).flavor != where.flavor:
            return False
        event = store.found_events.get(hit.event or 0)
        if not where.of_events or event is None:
            return True
        return (
            (not where.kinds or event.kind in where.kinds)
            and where.tool in (None, event.tool)
            and (where.file is None or any(where.file in name for name in event.files))
            and (not where.errors_only or event.is_error or event.kind == "error")
        )

    def line(self, session_id: int) -> SessionLine | None:
        """One session."""
        if (copied := self._store.copied_line(session_id)) is not None:
            return copied
        try:
            return line_of(self._store.session(session_id))
        except NotFound:
            return None

    def lines(self, project_id: int) -> list[SessionLine]:
        """The sessions of a project that the copy has."""
        name = next((p.key for p in self._store.projects() if p.id == project_id), "")
        copied = self._store.copy.scopes.project(name)
        lines = self._store.copy.scopes.lines(copied.id) if copied else []
        return [renamed(line, project_id) for line in lines]

    def counts(self, sessions: list[int]) -> dict[int, SessionCounts]:
        """Counts for each of these sessions that the copy has."""
        places = self._store.in_copy(sessions)
        counted = self._store.copy.scopes.counts(list(places))
        return {places[each]: counts for each, counts in counted.items()}

    def totals(self, sessions: list[int]) -> ScopeTotals:
        """What the copy has of their observations."""
        return self._store.copy.scopes.totals(list(self._store.in_copy(sessions)))

    def turns(self, sessions: list[int]) -> int:
        """What the copy has of their turns."""
        return self._store.copy.scopes.turns(list(self._store.in_copy(sessions)))

    def rules(self, sessions: list[int]) -> dict[int, tuple[RuleStatement, ...]]:
        """What users said in those that the copy has."""
        numbers = self._store.in_copy(sessions)
        rules_in_copy = self._store.copy.scopes.rules(list(numbers))
        return {numbers[each]: rules for each, rules in rules_in_copy.items()}

    def observed(
        self, sessions: list[int], types: tuple[ObservationType, ...], limit: int | None = None
    ) -> list[Observation]:
        """What the copy has of their observations."""
        places = list(self._store.in_copy(sessions))
        return self._store.named(self._store.copy.scopes.observed(places, types, limit))

    def some_lines(self, sessions: list[int]) -> list[SessionLine]:
        """These sessions."""
        return [line for each in sessions if (line := self.line(each)) is not None]

    def project(self, key: str) -> Project | None:
        """The shared project of this name."""
        return next((each for each in self._store.projects() if each.key == key), None)

    def some_projects(self, ids: Any) -> dict[int, Project]:
        """Projects by their numbers."""
        wanted = set(ids)
        return {each.id: each for each in self._store.projects() if each.id in wanted}

    def cures(self, sessions: list[int]) -> dict[int, tuple[Cure, ...]]:
        """Their cures; of sessions that a search found, those that it found."""
        found_cures = self._store.found_cures
        cures_by_session = {
            each: tuple(found_cures[each])
            if each in found_cures
            else tuple(cures_in(self._store.whole(each)))
            for each in sessions
        }
        return {each: cures for each, cures in cures_by_session.items() if cures}

    def observation(self, name: str) -> Observation | None:
        """One that a search found."""
        found_observations = self._store.found_observations.values()
        return next((each for each in found_observations if each.hash == name), None)

    def some_observations(self, ids: list[int]) -> dict[int, Observation]:
        """Those that a search found."""
        found_observations = self._store.found_observations
        return {each: found_observations[each] for each in ids if each in found_observations}

    def has_tool(self, name: str) -> bool:
        """Not known: tools are not listed by a hub."""
        del name
        return True

    def has_path(self, part: str, where: TextFilter) -> bool:
        """Not known: paths are not listed by a hub."""
        del part, where
        return True

    def recent_paths(self, where: TextFilter) -> list[str]:
        """None: paths are not listed by a hub."""
        del where
        return []

    def events(self, ids: list[int]) -> list[SessionEvent]:
        """Events by id, in the order given."""
        found_events = self._store.found_events
        others = [each for each in ids if each not in found_events]
        read = {event.id: event for event in self._store.events_at(others)} if others else {}
        return [event for each in ids if (event := found_events.get(each) or read.get(each))]

    def check_current(self) -> None:
        """Nothing to check: every answer of a hub names its version."""

    def snapshot(self) -> AbstractContextManager[None]:
        """No snapshot: each answer of a hub is independent."""
        return nullcontext()


class RemotePatterns:
    """Errors and cures that a hub finds."""

    def __init__(self, store: RemoteStore) -> None:
        self._store = store

    def __getattr__(self, name: str) -> Any:
        """What the hub does not answer."""
        return getattr(self._store.copy.patterns, name)

    def failures(self, about: str = "") -> Iterator[Failures]:
        """The cures that have the most in common with an error, by session."""
        if not about:
            yield from self._store.copy.patterns.failures()
            return
        cures: dict[str, list[tuple[Cure, int | None]]] = {}
        for remote_hit in self._store.ask(about, TextFilter(), ("cure",)).hits:
            cure = read_cure(remote_hit.body)
            if remote_hit.session is not None and cure is not None:
                cures.setdefault(remote_hit.session, []).append((cure, remote_hit.at))
        for key, met in cures.items():
            number = number_of(key)
            session = self._store.session(number)
            at = max((at for _, at in met if at is not None), default=session.ended_at)
            helped = tuple(cure for cure, _ in met)
            yield Failures(number, session.flavor, key, at, (), (), helped)
