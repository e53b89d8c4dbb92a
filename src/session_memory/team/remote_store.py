"""A hub as a store: questions about words and about single sessions go to the hub itself.

What it cannot answer is asked of a copy of the newest sessions, see docs/team.md. Sessions have
one number, made of their keys; those of the copy are known here alone.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Self, cast

import msgspec

from session_memory.core.event_ids import split
from session_memory.core.schema import (
    Cure,
    Digest,
    Observation,
    Project,
    Session,
    SessionEvent,
)
from session_memory.core.session_reference import Lookup, SessionName, find
from session_memory.core.sharing import wire
from session_memory.errors import HubRefused, NotFound, UsageError
from session_memory.store.port import ObservationQuery, SessionQuery, Store
from session_memory.store.remote_call import HubClient
from session_memory.store.scopes import SessionLine
from session_memory.store.values import EventPlace, TextFilter
from session_memory.team.evidence import read_digest
from session_memory.team.hub_values import (
    FIRST_NUMBER,
    beginning_of,
    cures_in,
    event_of,
    number_of,
    project_of,
    renamed,
    session_of,
)
from session_memory.team.membership import Membership
from session_memory.team.remote_scopes import RemotePatterns, RemoteScopes

MOST_HITS = 50
"""How many hits a hub returns for one question."""
PAGE = 200
HIT_CHARS = 2_000
COPIED = {
    "heights": "a hub does not tell how far its members have read their logs",
    "sessions_by_day": "it counts no days",
    "session_figures": "figures stand in digests, which it does not read",
    "digest_versions": "versions stand in digests",
    "old_digests": "versions stand in digests",
    "digest_stamps": "they are made of local rows",
    "observations": "it lists lessons by words, not by time",
    "usage": "it keeps what sessions cost as their owners sent it, without groups",
    "closures": "checks of work belong to its owner's machine",
    "syncs": "files of packs belong to its owner's machine",
    "counts": "turns are counted from all events of a session",
    "totals": "observations are counted from all sessions of a project",
    "turns": "turns are counted from all events of a session",
    "observed": "it lists lessons by words, not by session and type",
    "rules": "what users said stands in digests, which it does not read",
    "word_counts": "how often others say a word is not told",
    "revision": "its cursor is asked once a minute, and the copy renewed where it moved",
}
"""Questions of recall that a copy of the newest sessions answers, and why the hub does not."""


class RemoteStore:
    """What a hub answers itself; everything else comes from the copy."""

    def __init__(
        self, joined: Membership, copy: Callable[[], Store], copied: Store | None = None
    ) -> None:
        """`copied` is the copy where it is open already; it is closed with this store."""
        self._client = HubClient(joined.url, joined.token)
        self._make_copy = copy
        self._copied = copied
        self._places: dict[int, int] | None = None
        names = sorted(each.project for each in joined.shared)
        self._projects = {name: project_of(place, name) for place, name in enumerate(names)}
        self._headers: dict[int, Session] = {}
        self._texts: dict[int, wire.SessionText] = {}
        self.found_events: dict[int, SessionEvent] = {}
        self.found_observations: dict[int, Observation] = {}
        self.found_cures: dict[int, list[Cure]] = {}
        self.scopes = RemoteScopes(self)
        self.patterns = RemotePatterns(self)

    def __getattr__(self, name: str) -> Any:
        """What the hub does not answer."""
        return getattr(self.copy, name)

    @property
    def copy(self) -> Store:
        """The copy of the newest sessions, made when it is first needed."""
        if self._copied is None:
            self._copied = self._make_copy()
        return self._copied

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object, /) -> None:
        self._client.close()
        if self._copied is not None:
            self._copied.__exit__(kind, error, trace)

    def close(self) -> None:
        """Close the connection, and the copy where there is one."""
        self.__exit__(None, None, None)

    # --- what the hub is asked ---

    def ask(self, query: str, where: TextFilter, kinds: Sequence[str]) -> wire.SearchAnswer:
        """Search on the hub; the sessions of what it finds are known from now on."""
        project = next((p.key for p in self._projects.values() if p.id == where.project_id), None)
        if where.project_id is not None and project is None:
            return wire.SearchAnswer(())
        request = wire.Search(
            query[:4_000],
            projects=(project,) if project else tuple(self._projects),
            kinds=tuple(kinds),
            since=where.since,
            until=where.until,
            session=self.session(where.session).external_id if where.session else None,
            limit=MOST_HITS,
        )
        if not request.projects:  # none would mean every project of the team
            return wire.SearchAnswer(())
        answer = self._client.post("/v1/search", request, wire.SearchAnswer)
        for line in answer.sessions:
            self.found_cures.setdefault(self._know(line).id, [])
        return answer

    def _know(self, line: wire.SessionLine, *, whole: bool = True) -> Session:
        session = session_of(line, self._projects.get(line.project), whole=whole)
        return self._headers.setdefault(session.id, session)

    def whole(self, number: int) -> wire.SessionText:
        """Everything shared of one session."""
        if number not in self._texts:
            header = self._headers.get(number)
            self._fetch(header.external_id if header else beginning_of(number))
        return self._texts[number]

    def _fetch(self, key: str) -> int:
        try:
            text = self._client.get(f"/v1/session/{key}", wire.SessionText)
        except HubRefused as error:
            raise NotFound(error.message, hint=error.hint) from None
        if text.line.project not in self._projects:
            raise NotFound("there is no such session in the projects you share")
        number = number_of(text.line.key)
        self._headers.pop(number, None)
        self._know(text.line, whole=bool(text.events))
        self._texts[number] = text
        return number

    # --- what the copy is asked ---

    def in_copy(self, sessions: Iterable[int]) -> dict[int, int]:
        """Those of these sessions that the copy has: its number to ours."""
        if self._places is None:
            every = self.copy.sessions(SessionQuery(include_empty=True))
            self._places = {number_of(each.external_id): each.id for each in every}
        return {self._places[each]: each for each in sessions if each in self._places}

    def copied_line(self, number: int) -> SessionLine | None:
        """What the copy knows of a session, where there is a copy: more than its header says."""
        copied_number = (
            next(iter(self.in_copy([number])), None) if self._copied is not None else None
        )
        line = self.copy.scopes.line(copied_number) if copied_number is not None else None
        return line and renamed(line, self.session(number).project_id)

    def named(self, observations: Iterable[Observation]) -> list[Observation]:
        """Observations of the copy, with our numbers of their sessions and events."""
        copied = list(observations)
        keys = {each: self.copy.session(each).external_id for each in {o.session for o in copied}}
        made: list[Observation] = []
        for each in copied:
            number = number_of(keys[each.session])
            event = each.event and self._event_of(each.event, number)
            made.append(msgspec.structs.replace(each, session=number, event=event))
        return made

    def _event_of(self, copied: int, number: int) -> int | None:
        """The event at the same place of the same session."""
        places = [place.id for place in self.copy.event_places(split(copied)[0])]
        own = self.event_places(number)
        at = places.index(copied) if copied in places else len(own)
        return own[at].id if at < len(own) else None

    def observations(self, query: ObservationQuery) -> list[Observation]:
        """Those of the copy that fit."""
        if query.session is not None:
            copied_number = next(iter(self.in_copy([query.session])), None)
            if copied_number is None:
                return []
            query = msgspec.structs.replace(query, session=copied_number)
        return self.named(self.copy.observations(query))

    # --- SessionReader ---

    def projects(self) -> list[Project]:
        """The shared projects."""
        return list(self._projects.values())

    found_projects = projects

    def sessions(self, query: SessionQuery) -> list[Session]:
        """Sessions that fit, newest first."""
        if query.outcome is not None:  # an empty list would say that there are none
            raise UsageError(
                "a hub does not know how sessions ended",
                hint="list them without --outcome; `show` prints it where the digest is shared",
            )
        matching: list[Session] = []
        end = None if query.limit is None else query.offset + query.limit
        listed = [self._listed(name) for name in self._projects if query.project in (None, name)]
        for session in heapq.merge(*listed, key=lambda each: -(each.started_at or 0)):
            if _fits(session, query):
                matching.append(session)
            if end is not None and len(matching) >= end:
                break
        return matching[query.offset if end is not None else 0 : end]

    def _listed(self, project: str) -> Iterator[Session]:
        after: str | None = None
        while True:
            page = self._client.get(
                "/v1/sessions", wire.SessionPage, project=project, after=after, limit=PAGE
            )
            yield from (self._know(line) for line in page.sessions)
            after = page.next
            if after is None:
                break

    def session(self, session_id: int) -> Session:
        """One session by its number."""
        if session_id < FIRST_NUMBER:
            raise NotFound(f"no session of the hub has the number {session_id}")
        if session_id not in self._headers:
            self.whole(session_id)
        return self._headers[session_id]

    def find_session(self, reference: str) -> Session:
        """One session by its number, or by its key or the beginning of it."""

        def numbered(number: int) -> Sequence[SessionName]:
            session = self.session(number)
            return [SessionName(session.id, session.external_id, session.flavor)]

        def called(name: str) -> Sequence[SessionName]:
            try:
                number = self._fetch(name)
            except NotFound:
                return []
            return [SessionName(number, name)]

        return self.session(find(reference, Lookup(numbered, called)))

    def own_session(self, native_id: str, flavor: str | None = None) -> Session | None:
        """The session with this key."""
        del flavor
        try:
            return self.session(self._fetch(native_id))
        except NotFound:
            return None

    def events(self, session_id: int, *, texts: bool = False) -> Iterator[SessionEvent]:
        """The shared events of a session."""
        del texts  # they come with their events
        for event in self.whole(session_id).events:
            yield event_of(session_id, event, event.text)

    def superseded_events(self, session_id: int) -> Iterator[SessionEvent]:
        """None: only what stands in a log is shared."""
        del session_id
        return iter(())

    def all_events(self, session_id: int) -> Iterator[SessionEvent]:
        """The shared events of a session."""
        return self.events(session_id, texts=True)

    def event_places(self, session_id: int) -> list[EventPlace]:
        """The shared events of a session, without what they say."""
        return [
            EventPlace(e.id, e.kind, e.at, e.tool_class, e.call_id, e.is_error)
            for e in self.events(session_id)
        ]

    def events_at(self, event_ids: Sequence[int]) -> list[SessionEvent]:
        """Events by their ids, in that order."""
        sessions = {split(each)[0] for each in event_ids}
        events_by_id = {event.id: event for session in sessions for event in self.events(session)}
        return [events_by_id[each] for each in event_ids if each in events_by_id]

    def text(self, event: SessionEvent) -> str:
        """The text of one event."""
        if event.text is not None and len(event.text) < HIT_CHARS:
            return event.text
        return next(
            (each.text or "" for each in self.events(event.session_id) if each.id == event.id),
            event.text or "",
        )

    def digest(self, session_id: int) -> Digest | None:
        """The digest, where it is shared."""
        text = self.whole(session_id)
        bodies = [shared.item.body for shared in text.items if shared.item.kind == "digest"]
        return read_digest(bodies[0], list(cures_in(text))) if bodies else None

    def evicted_digest(self, session_id: int) -> Digest | None:
        """None: what is evicted on its owner's machine is unknown here."""
        del session_id

    def response_costs(self, session_id: int) -> list[Any]:
        """None: what responses cost is shared for whole sessions."""
        del session_id
        return []

    def outcomes(self, among: Any = None) -> dict[int, str]:
        """None: a list of sessions does not read their digests."""
        del among
        return {}

    def span(self, flavor: str) -> tuple[int, int | None]:
        """Not counted by agent."""
        del flavor
        return 0, None

    def search(
        self, query: str, limit: int = 20, where: TextFilter | None = None
    ) -> list[tuple[int, float]]:
        """(Event id, score) of the events that match best."""
        hits = self.scopes.find(query, where)
        return [(hit.event, hit.score) for hit in hits if hit.event is not None][:limit]


def _fits(session: Session, query: SessionQuery) -> bool:
    at = session.ended_at or session.started_at or 0
    return (
        query.flavor in (None, session.flavor)
        and (query.since is None or at >= query.since)
        and (query.until is None or at < query.until)
        and query.state in (None, session.state)
        and (query.include_subagents or session.parent_external_id is None)
    )


def as_store(store: RemoteStore) -> Store:
    """The same for callers that ask for a whole store; what is not answered is in the copy."""
    return cast("Store", store)
