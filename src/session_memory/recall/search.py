"""mem_search and mem_recent: what was said, by its words or by its time.

The items are observations, as the contract of the tool requires. The best matching events come
with them, so that text nobody distilled is found too. `session-memory show` prints the raw text of
an event.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from msgspec import UNSET, UnsetType

from session_memory.clock import iso
from session_memory.core.schema import Observation, Project
from session_memory.core.text.safe_text import one_line
from session_memory.core.text.search_terms import terms_of
from session_memory.recall.context import RecallContext
from session_memory.recall.event_search import EventHit, is_searched, search_events
from session_memory.recall.observation_ranking import (
    RankedObservation,
    collapse,
    fingerprint,
    rank,
    stem,
)
from session_memory.recall.requests import SearchRequest
from session_memory.recall.scope import Scope, check_agent, is_outside, open_scope
from session_memory.recall.session_fields import capture_version, short_line
from session_memory.recall.session_list import overfetch
from session_memory.store.port import ObservationQuery, RecallStore, TextFilter
from session_memory.store.scopes import SessionLine

TITLE_CHARS = 90
SUMMARY_CHARS = 240
MAX_DUPLICATE_SESSIONS = 25
"""Sessions named where many said the same; the count includes all."""
MAX_RANKED = 2_000
"""Observations ranked for one search, the latest ones."""


class FoundItem(msgspec.Struct, frozen=True, kw_only=True):
    """One observation, with the fields that clients of this contract expect."""

    id: str
    project_id: int | None
    project_key: str | None
    project_root_path: str | None
    project_root_match: bool
    session_id: int
    external_session_id: str
    cwd: str | None
    runtime: str
    turn_id: int | None
    type: str
    title: str
    summary: str
    importance: int
    status: str
    source_kind: str
    updated_at: str | None
    last_captured_turn_at: str | None
    rank: int | UnsetType = UNSET
    """Its position: there is no index over observations whose score could be given."""
    memory_kind: str = "observation"
    retrieval_scope: str
    session_filter_applied: bool
    producer_version: str | None
    capture_version_status: str
    capture_version_scope: str
    capture_version_inferred: bool
    memory_fingerprint: str
    dedupe_applied: bool | UnsetType = UNSET
    duplicate_count: int | UnsetType = UNSET
    duplicate_session_ids: tuple[int, ...] | UnsetType = UNSET
    duplicate_external_session_ids: tuple[str, ...] | UnsetType = UNSET
    duplicate_latest_updated_at: str | UnsetType | None = UNSET
    duplicate_latest_captured_turn_at: str | UnsetType | None = UNSET


class SearchAnswer(msgspec.Struct, frozen=True):
    """mem_search; mem_recent has no events."""

    items: tuple[FoundItem, ...]
    count: int
    events: tuple[EventHit, ...] = ()
    event_count: int = 0


class _SearchScope(msgspec.Struct, frozen=True):
    """Where hits may come from; no scope means every project."""

    scope: Scope | None
    projects: dict[int, Project]

    @property
    def session_id(self) -> int | None:
        """The one session that is searched, if the scope is one."""
        return self.scope.session.id if self.scope and self.scope.session else None


def search(context: RecallContext, request: SearchRequest) -> SearchAnswer:
    """mem_search; a blank query gives what is newest (SRC-06)."""
    store = context.store
    terms = terms_of(request.query)
    if not terms:
        return recent(context, request)
    within = _search_scope(store, request)
    query = _query(within, request, tuple(stem(word) for word in terms.words))
    ranked = rank(_searched(store, within.scope, store.observations(query)), terms.words)
    groups = collapse(ranked)[: request.count]
    events = search_events(store, request, within.scope, context.vectors)
    return SearchAnswer(
        tuple(_ranked_item(store, within, group, number) for number, group in enumerate(groups, 1)),
        len(groups),
        events,
        len(events),
    )


def recent(context: RecallContext, request: SearchRequest) -> SearchAnswer:
    """mem_recent: the newest observations, each as it was said (SRC-09)."""
    store = context.store
    within = _search_scope(store, request)
    query = msgspec.structs.replace(_query(within, request, ()), limit=overfetch(request.count))
    observations = _searched(store, within.scope, store.observations(query))
    newest = observations[::-1][: request.count]
    items = tuple(_item(store, within, observation) for observation in newest)
    return SearchAnswer(items, len(items))


def _search_scope(store: RecallStore, request: SearchRequest) -> _SearchScope:
    check_agent(store, request.flavor)
    projects = {project.id: project for project in store.projects()}
    is_limited = request.project_key is not None or request.session_id is not None
    scope = open_scope(store, request.project_key, request.session_id) if is_limited else None
    return _SearchScope(scope, projects)


def _query(
    within: _SearchScope, request: SearchRequest, stems: tuple[str, ...]
) -> ObservationQuery:
    scope = within.scope
    return ObservationQuery(
        session=within.session_id,
        project=scope.project.key if scope and not scope.session else None,
        flavor=request.flavor,
        since=request.since,
        until=request.until,
        read_from=TextFilter(
            kinds=request.kinds,
            tool=request.tool,
            file=request.file,
            errors_only=request.errors_only,
        ),
        limit=MAX_RANKED,
        holding=stems,
    )


def _searched(
    store: RecallStore, scope: Scope | None, observations: Sequence[Observation]
) -> list[Observation]:
    """Without those of programs' own sessions and of sessions that ran elsewhere."""
    lines = {each.session: store.scopes.line(each.session) for each in observations}
    searched = {number for number, line in lines.items() if is_searched(line, scope)}
    return [each for each in observations if each.session in searched]


def _item(store: RecallStore, within: _SearchScope, observation: Observation) -> FoundItem:
    line = store.scopes.line(observation.session)
    assert line is not None  # _searched looked it up in the same connection
    project = within.projects.get(line.project_id) if line.project_id is not None else None
    version = capture_version(line.client_version)
    in_session = within.session_id is not None
    return FoundItem(
        id=observation.hash,
        project_id=line.project_id,
        project_key=project.key if project else None,
        project_root_path=one_line(project.root) if project and project.root else None,
        project_root_match=_is_inside(project, line),
        session_id=line.id,
        external_session_id=one_line(line.external_id),
        cwd=one_line(line.cwd) if line.cwd else None,
        runtime=line.flavor,
        turn_id=observation.event,
        type=observation.type,
        title=short_line(observation.text, TITLE_CHARS),
        summary=short_line(observation.text, SUMMARY_CHARS),
        importance=observation.importance,
        status=observation.status,
        source_kind=observation.source,
        updated_at=iso(observation.at),
        last_captured_turn_at=iso(line.ended_at or observation.at),
        retrieval_scope="session" if in_session else "project",
        session_filter_applied=in_session,
        producer_version=version.producer_version,
        capture_version_status=version.capture_version_status,
        capture_version_scope=version.capture_version_scope,
        capture_version_inferred=version.capture_version_inferred,
        memory_fingerprint=fingerprint(observation),
    )


def _ranked_item(
    store: RecallStore, within: _SearchScope, group: RankedObservation, number: int
) -> FoundItem:
    sessions = tuple(dict.fromkeys(same.session for same in group.same))[:MAX_DUPLICATE_SESSIONS]
    lines = [line for session in sessions if (line := store.scopes.line(session)) is not None]
    latest = max((same.at or 0 for same in group.same), default=0) or None
    captured = max((line.ended_at or 0 for line in lines), default=0) or latest
    return msgspec.structs.replace(
        _item(store, within, group.best),
        rank=number,
        dedupe_applied=len(group.same) > 1,
        duplicate_count=len(group.same),
        duplicate_session_ids=sessions,
        duplicate_external_session_ids=tuple(one_line(line.external_id) for line in lines),
        duplicate_latest_updated_at=iso(latest),
        duplicate_latest_captured_turn_at=iso(captured),
    )


def _is_inside(project: Project | None, line: SessionLine) -> bool:
    return project is not None and line.cwd is not None and not is_outside(project, line)
