"""mem_search and mem_recent: what was said, by its words or by its time.

Observations are the items, as the tool's contract has it; beside them stand the events that match
best, so that what nobody distilled is found too. An event leads on to its neighbours (`around`) and
to the raw text (`session-memory show`).
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from msgspec import UNSET, UnsetType

from session_memory.clock import iso
from session_memory.core.schema import Observation, Project
from session_memory.core.text.safe_text import one_line
from session_memory.core.text.search_terms import terms_of
from session_memory.recall.event_search import EventHit, Nearness, event_hits, speaks
from session_memory.recall.observation_ranking import Ranked, collapse, fingerprint, rank, stem
from session_memory.recall.requests import SearchRequest
from session_memory.recall.scope import Scope, check_agent, is_outside, open_scope
from session_memory.recall.session_list import capture_version, overfetch, shown
from session_memory.store.port import ObservationQuery, Store, TextFilter
from session_memory.store.scopes import SessionLine

TITLE_CHARS = 90
SUMMARY_CHARS = 240
NAMED = 25
"""Sessions that are named where the same thing was said in many; the count tells of all."""
MOST_READ = 2_000
"""Observations that are ranked for one question, the latest."""


class FoundItem(msgspec.Struct, frozen=True, kw_only=True):
    """One observation; fields of the contract (CATALOGUE section 4)."""

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
    """Its place; there is no index over observations whose score could be told."""
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


class _Place(msgspec.Struct, frozen=True):
    """Where answers may come from; no scope means every project."""

    scope: Scope | None
    projects: dict[int, Project]


def search(store: Store, request: SearchRequest, nearness: Nearness | None = None) -> SearchAnswer:
    """What matches a question; a blank one is answered with what is newest (SRC-06)."""
    terms = terms_of(request.query)
    if not terms:
        return recent(store, request)
    place = _place(store, request)
    query = _query(place, request, tuple(stem(word) for word in terms.words))
    ranked = rank(_allowed(store, place.scope, store.observations(query)), terms.words)
    groups = collapse(ranked)[: request.count]
    events = event_hits(store, request, place.scope, nearness)
    return SearchAnswer(
        tuple(_item(store, place, group, at) for at, group in enumerate(groups, 1)),
        len(groups),
        events,
        len(events),
    )


def recent(store: Store, request: SearchRequest) -> SearchAnswer:
    """The newest observations, each as it was said (SRC-09)."""
    place = _place(store, request)
    query = _query(place, request, ())
    query = msgspec.structs.replace(query, limit=overfetch(request.count))
    found = _allowed(store, place.scope, store.observations(query))
    newest = found[::-1][: request.count]
    items = tuple(_item(store, place, Ranked(one, (one,)), None) for one in newest)
    return SearchAnswer(items, len(items))


def _place(store: Store, request: SearchRequest) -> _Place:
    check_agent(store, request.flavor)
    projects = {project.id: project for project in store.projects()}
    named = request.project_key is not None or request.session_id is not None
    scope = open_scope(store, request.project_key, request.session_id) if named else None
    return _Place(scope, projects)


def _query(place: _Place, request: SearchRequest, stems: tuple[str, ...]) -> ObservationQuery:
    scope = place.scope
    return ObservationQuery(
        session=scope.session.id if scope and scope.session else None,
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
        limit=MOST_READ,
        holding=stems,
    )


def _allowed(store: Store, scope: Scope | None, found: Sequence[Observation]) -> list[Observation]:
    """Without what only programs said to each other, or what was captured elsewhere."""
    lines = {one.session: store.scopes.line(one.session) for one in found}
    speaking = {number for number, line in lines.items() if speaks(line, scope)}
    return [one for one in found if one.session in speaking]


def _item(store: Store, place: _Place, group: Ranked, at: int | None) -> FoundItem:
    one = group.one
    line = store.scopes.line(one.session)
    assert line is not None  # _allowed looked it up in the same connection
    project = place.projects.get(line.project_id) if line.project_id is not None else None
    version = capture_version(line.client_version)
    fields = FoundItem(
        id=one.hash,
        project_id=line.project_id,
        project_key=project.key if project else None,
        project_root_path=one_line(project.root) if project and project.root else None,
        project_root_match=_is_inside(project, line),
        session_id=line.id,
        external_session_id=one_line(line.external_id),
        cwd=one_line(line.cwd) if line.cwd else None,
        runtime=line.flavor,
        turn_id=one.event,
        type=one.type,
        title=shown(one.text, TITLE_CHARS),
        summary=shown(one.text, SUMMARY_CHARS),
        importance=one.importance,
        status=one.status,
        source_kind=one.source,
        updated_at=iso(one.at),
        last_captured_turn_at=iso(line.ended_at or one.at),
        retrieval_scope="session" if place.scope and place.scope.session else "project",
        session_filter_applied=bool(place.scope and place.scope.session),
        producer_version=version.producer_version,
        capture_version_status=version.capture_version_status,
        capture_version_scope=version.capture_version_scope,
        capture_version_inferred=version.capture_version_inferred,
        memory_fingerprint=fingerprint(one),
    )
    return fields if at is None else _with_duplicates(store, fields, group, at)


def _with_duplicates(store: Store, fields: FoundItem, group: Ranked, at: int) -> FoundItem:
    sessions = tuple(dict.fromkeys(same.session for same in group.same))[:NAMED]
    lines = [line for number in sessions if (line := store.scopes.line(number)) is not None]
    latest = max((same.at or 0 for same in group.same), default=0) or None
    captured = max((line.ended_at or 0 for line in lines), default=0) or latest
    return msgspec.structs.replace(
        fields,
        rank=at,
        dedupe_applied=len(group.same) > 1,
        duplicate_count=len(group.same),
        duplicate_session_ids=sessions,
        duplicate_external_session_ids=tuple(one_line(line.external_id) for line in lines),
        duplicate_latest_updated_at=iso(latest),
        duplicate_latest_captured_turn_at=iso(captured),
    )


def _is_inside(project: Project | None, line: SessionLine) -> bool:
    return project is not None and line.cwd is not None and not is_outside(project, line)
