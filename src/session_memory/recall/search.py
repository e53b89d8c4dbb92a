"""mem_search and mem_recent: what was said, by its words or by its time.

Observations, cures, lines of MEMORY.md, articles and events stand in one list, best first. An event
that an observation or a cure was read from is one item with it; `turn_id` names the event, and
`session-memory show` prints its raw text.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Literal

import msgspec
from msgspec import UNSET, UnsetType

from session_memory.clock import iso
from session_memory.core.event_ids import event_id, split
from session_memory.core.forget import FORGOTTEN
from session_memory.core.schema import Cure, Observation, Project, SessionEvent
from session_memory.core.text.safe_text import one_line
from session_memory.core.text.search_terms import terms_of
from session_memory.recall.asking_turns import answers_first
from session_memory.recall.context import RecallContext
from session_memory.recall.event_search import (
    SearchScope,
    is_searched,
    shown_text,
    snippet,
    text_filter,
)
from session_memory.recall.found_cures import with_cures
from session_memory.recall.memory_lines import ScoredLine, matching_lines, project_of
from session_memory.recall.requests import SearchRequest
from session_memory.recall.same_words import fingerprint, stem
from session_memory.recall.scope import check_agent, is_outside, known_project, open_scope
from session_memory.recall.session_fields import capture_version, short_line
from session_memory.recall.session_list import overfetch
from session_memory.recall.unknown_values import check_file, check_tool
from session_memory.store.port import ObservationQuery, RecallStore, TextFilter
from session_memory.store.scopes import SessionLine
from session_memory.store.search_rank import Hit

TITLE_CHARS = 90
SUMMARY_CHARS = 240
MAX_DUPLICATE_SESSIONS = 25
"""Sessions named where many said the same; the count includes all."""
TOP = 3
"""Results that lines of files are measured by, each by the line that is shown of it."""
MAX_RESULTS = 500
"""How far paging goes."""


class FoundItem(msgspec.Struct, frozen=True, kw_only=True):
    """One observation or event, with the fields that clients of this contract expect."""

    id: str
    project_id: int | None
    project_key: str | None
    project_root_path: str | None
    project_root_match: bool
    session_id: int | None
    """None of a line of a file that names no session, such as one that its user wrote."""
    external_session_id: str
    cwd: str | None
    runtime: str
    turn_id: int | None
    """The event: its own number, or of what an observation was read from."""
    type: str
    """The type of an observation, the kind of an event, `cure`, `memory` or `article`."""
    title: str
    summary: str
    importance: int | UnsetType = UNSET
    status: str | UnsetType = UNSET
    source_kind: str | UnsetType = UNSET
    tool: str | UnsetType = UNSET
    is_error: bool | UnsetType = UNSET
    cure: str | UnsetType = UNSET
    """What made it work later in its session; only of what failed."""
    updated_at: str | None
    last_captured_turn_at: str | None
    rank: int | UnsetType = UNSET
    score: float | UnsetType = UNSET
    """Comparable within one answer: 1 is the best of it."""
    memory_kind: Literal["observation", "event", "cure", "memory", "article"] = "observation"
    retrieval_scope: str
    session_filter_applied: bool
    producer_version: str | None
    capture_version_status: str
    capture_version_scope: str
    capture_version_inferred: bool
    memory_fingerprint: str | UnsetType = UNSET
    dedupe_applied: bool | UnsetType = UNSET
    duplicate_count: int | UnsetType = UNSET
    duplicate_session_ids: tuple[int, ...] | UnsetType = UNSET
    duplicate_external_session_ids: tuple[str, ...] | UnsetType = UNSET
    duplicate_latest_updated_at: str | UnsetType | None = UNSET
    duplicate_latest_captured_turn_at: str | UnsetType | None = UNSET


class SearchAnswer(msgspec.Struct, frozen=True):
    """mem_search and mem_recent."""

    items: tuple[FoundItem, ...]
    count: int
    next_cursor: str | UnsetType = UNSET
    """What to ask with for the next page; absent on the last one."""


class _Result(msgspec.Struct):
    """A hit with what it says, and all that say the same."""

    text: str
    line: SessionLine
    score: float
    observation: Observation | None
    event: SessionEvent | None
    same: list[tuple[SessionLine, int | None]]
    """Session and time of each that says the same, itself included."""


def search(context: RecallContext, request: SearchRequest) -> SearchAnswer:
    """mem_search; a blank query gives what is newest (SRC-06)."""
    store = context.store
    terms = terms_of(request.query)
    if not terms:
        return recent(context, request)
    within = _search_scope(store, request)
    stems = [stem(word) for word in terms.words]
    where = text_filter(request, within)
    raw_hits = store.scopes.find(request.query, where)
    if where.may_be_turns:
        raw_hits = answers_first(store, raw_hits)
    hits, cures = with_cures(store, raw_hits, stems)
    start = request.offset
    end = min(start + request.count, MAX_RESULTS)
    results = _results(store, within, hits, end + 1)
    lines = _memory_lines(context, request, within, results)
    if not results and not lines:
        _check_values(store, request, within)
    best = max(result.score for result in (*results, *lines)) if results or lines else 1.0
    ranked = _merged(results, lines)
    shown = ranked[start:end]
    opened = [result for result in shown if isinstance(result, _Result)]
    projects = _projects(store, [result.line for result in opened])
    places = _Places(within, projects, _cures(store, opened), cures)
    items = tuple(
        msgspec.structs.replace(
            _ranked_item(places, result, stems)
            if isinstance(result, _Result)
            else _memory_item(context, result),
            rank=number,
            score=round(result.score / best, 4) if best else 1.0,
        )
        for number, result in enumerate(shown, start + 1)
    )
    more = len(ranked) > end and end < MAX_RESULTS
    return SearchAnswer(items, len(items), str(end) if more else UNSET)


def _memory_lines(
    context: RecallContext,
    request: SearchRequest,
    within: SearchScope,
    results: Sequence[_Result],
) -> list[ScoredLine]:
    """Lines of MEMORY.md and of articles; a filter on sessions or events leaves them all out."""
    if within.session is not None or text_filter(request, SearchScope()) != TextFilter():
        return []
    words = terms_of(request.query).words
    stems = [stem(word) for word in words]
    best = [(snippet(result.text, stems), result.score) for result in results[:TOP]]
    return matching_lines(context, within.project, words, best)


def _merged(results: Sequence[_Result], lines: Sequence[ScoredLine]) -> list[_Result | ScoredLine]:
    """Results in their order, each line before the first that scores lower."""
    merged: list[_Result | ScoredLine] = list(results)
    for line in lines:
        index = next((n for n, hit in enumerate(merged) if hit.score < line.score), len(merged))
        merged.insert(index, line)
    return merged


def recent(context: RecallContext, request: SearchRequest) -> SearchAnswer:
    """mem_recent: the newest observations, each as it was said (SRC-09)."""
    store = context.store
    within = _search_scope(store, request)
    start = request.offset
    end = start + request.count
    query = _query(within, request)
    # Some sessions are left out afterwards, so more are read until there are enough.
    limit, newest = 2 * end + 20, list[tuple[SessionLine, Observation]]()
    while True:
        observations = store.observations(msgspec.structs.replace(query, limit=limit))
        newest = _searched(store, within, observations)[::-1]
        if len(newest) > end or len(observations) < limit:
            break
        limit *= 4
    if not newest:
        _check_values(store, request, within)
    shown = newest[start:end]
    places = _Places(within, _projects(store, [line for line, _ in shown]))
    items = tuple(_item(places, line, observation) for line, observation in shown)
    more = len(newest) > end
    return SearchAnswer(items, len(items), str(end) if more else UNSET)


def _search_scope(store: RecallStore, request: SearchRequest) -> SearchScope:
    check_agent(store, request.flavor)
    if request.session_id is not None:
        scope = open_scope(store, request.project_key, request.session_id)
        return SearchScope(scope.project, scope.session)
    if request.project_key is not None:
        return SearchScope(known_project(store, request.project_key))
    return SearchScope()


def _projects(store: RecallStore, lines: Iterable[SessionLine]) -> dict[int, Project]:
    return store.scopes.some_projects({line.project_id for line in lines if line.project_id})


def _cures(store: RecallStore, shown: Iterable[_Result]) -> dict[int, str]:
    """What cured the failures among these, as far as their sessions prove it."""
    failed = {
        result.event.id
        for result in shown
        if result.event and (result.event.is_error or result.event.kind == "error")
    }
    sessions = {split(event)[0] for event in failed}
    cures_by_session = store.scopes.cures(sorted(sessions)) if sessions else {}
    return {
        event: _steps(cure)
        for session, cures in cures_by_session.items()
        for cure in cures
        if (event := event_id(session, cure.error_seq)) in failed
        if FORGOTTEN not in "".join(cure.steps)
    }


def _steps(cure: Cure) -> str:
    return short_line("; ".join(cure.steps), SUMMARY_CHARS)


def _as_cure(item: FoundItem, cure: Cure) -> FoundItem:
    """An item that says what failed and how, in place of the event that was found."""
    text = f"{cure.failed}: {cure.sample}"
    return msgspec.structs.replace(
        item,
        type="cure",
        memory_kind="cure",
        title=short_line(text, TITLE_CHARS),
        summary=short_line(text, SUMMARY_CHARS),
    )


def _memory_item(context: RecallContext, scored_line: ScoredLine) -> FoundItem:
    """A line of a file; `id` is what `show` takes, `turn_id` the first event it rests on."""
    line, store = scored_line.line, context.store
    event = next(iter(line.events), None)
    session = store.scopes.line(split(event)[0]) if event is not None else None
    project = project_of(store, context.data, line) if context.data else None
    version = capture_version(session.client_version if session else None)
    return FoundItem(
        id=line.name,
        project_id=project.id if project else None,
        project_key=project.key if project else None,
        project_root_path=one_line(project.root) if project and project.root else None,
        project_root_match=project is not None,
        session_id=session.id if session else None,
        external_session_id=one_line(session.external_id) if session else "",
        cwd=None,
        runtime=session.flavor if session else "",
        turn_id=event if session else None,
        type=line.kind,
        title=short_line(line.text, TITLE_CHARS),
        summary=short_line(line.text, SUMMARY_CHARS),
        updated_at=None,
        last_captured_turn_at=iso(session.ended_at) if session else None,
        memory_kind=line.kind,
        retrieval_scope="project",
        session_filter_applied=False,
        producer_version=version.producer_version,
        capture_version_status=version.capture_version_status,
        capture_version_scope=version.capture_version_scope,
        capture_version_inferred=version.capture_version_inferred,
        dedupe_applied=False,
        duplicate_count=1,
    )


def _check_values(store: RecallStore, request: SearchRequest, within: SearchScope) -> None:
    """Raise for what no event can fit."""
    check_tool(store, request.tool)
    here = text_filter(request, within)
    check_file(store, request.file, TextFilter(session=here.session, project_id=here.project_id))


def _query(within: SearchScope, request: SearchRequest) -> ObservationQuery:
    project = within.project if within.session is None else None
    return ObservationQuery(
        session=within.session.id if within.session else None,
        project=project.key if project else None,
        flavor=request.flavor,
        since=request.since,
        until=request.until,
        read_from=TextFilter(
            kinds=request.kinds,
            tool=request.tool,
            file=request.file,
            errors_only=request.errors_only,
        ),
    )


def _results(
    store: RecallStore, within: SearchScope, hits: Sequence[Hit], count: int
) -> list[_Result]:
    """The first hits that say different things, each with those that say the same."""
    results: dict[str, _Result] = {}
    lengths: set[int] = set()
    opened = enumerate(_opened(store, within, hits, count))
    for index, (hit, line, observation, event) in opened:
        if len(results) >= count and index >= overfetch(count):
            break
        length = event.body_ref[2] if event and event.body_ref else -1
        # After the last wanted one only repeats are looked for. Comparing lengths is free, and
        # reading a text is not.
        if len(results) >= count and observation is None and length not in lengths:
            continue
        text = observation.text if observation else shown_text(store, event) if event else None
        if text is None:
            continue
        key = fingerprint(observation) if observation else text
        at = observation.at if observation else event.at if event else None
        if key in results:
            results[key].same.append((line, at))
        elif len(results) < count:
            results[key] = _Result(text, line, hit.score, observation, event, [(line, at)])
            if observation is None:
                lengths.add(length)
    return list(results.values())


_Opened = tuple[Hit, SessionLine, Observation | None, SessionEvent | None]


def _opened(
    store: RecallStore, within: SearchScope, hits: Sequence[Hit], count: int
) -> Iterator[_Opened]:
    """Hits with their rows, without those of programs' own sessions and of sessions elsewhere.

    They are read in parts: mostly the first is enough.
    """
    size = overfetch(count)
    for start in range(0, len(hits), size):
        part = hits[start : start + size]
        lines = {
            line.id: line for line in store.scopes.some_lines(list({hit.session for hit in part}))
        }
        events = {
            event.id: event
            for event in store.scopes.events([hit.event for hit in part if hit.event is not None])
        }
        observations = store.scopes.some_observations(
            [hit.observation for hit in part if hit.observation is not None]
        )
        for hit in part:
            line = lines.get(hit.session)
            observation = observations.get(hit.observation) if hit.observation else None
            event = events.get(hit.event) if hit.event else None
            if line is not None and is_searched(line, within) and (observation or event):
                yield hit, line, observation, event


def _searched(
    store: RecallStore, within: SearchScope, observations: Sequence[Observation]
) -> list[tuple[SessionLine, Observation]]:
    """Without those of programs' own sessions and of sessions that ran elsewhere."""
    lines = store.scopes.some_lines(list({each.session for each in observations}))
    searched = {line.id: line for line in lines if is_searched(line, within)}
    return [(searched[each.session], each) for each in observations if each.session in searched]


class _Places(msgspec.Struct, frozen=True):
    """Where the items of an answer come from."""

    within: SearchScope
    projects: dict[int, Project]
    cures: dict[int, str] = {}
    """By the event that failed."""
    answers: dict[int, Cure] = {}
    """By the event that was found: cures that are answers themselves."""


def _item(places: _Places, line: SessionLine, observation: Observation) -> FoundItem:
    return msgspec.structs.replace(
        _of_session(places, line),
        id=observation.hash,
        turn_id=observation.event,
        type=observation.type,
        title=short_line(observation.text, TITLE_CHARS),
        summary=short_line(observation.text, SUMMARY_CHARS),
        importance=observation.importance,
        status=observation.status,
        source_kind=observation.source,
        updated_at=iso(observation.at),
        last_captured_turn_at=iso(line.ended_at or observation.at),
        memory_fingerprint=fingerprint(observation),
    )


def _event_item(places: _Places, line: SessionLine, event: SessionEvent, shown: str) -> FoundItem:
    return msgspec.structs.replace(
        _of_session(places, line),
        id=str(event.id),
        turn_id=event.id,
        type=event.kind,
        title=short_line(shown, TITLE_CHARS),
        summary=shown,
        tool=one_line(event.tool) if event.tool else UNSET,
        is_error=True if event.is_error else UNSET,
        updated_at=iso(event.at),
        last_captured_turn_at=iso(line.ended_at or event.at),
        memory_kind="event",
    )


def _of_session(places: _Places, line: SessionLine) -> FoundItem:
    """The fields that say where an item comes from; the others are still empty."""
    project = places.projects.get(line.project_id) if line.project_id is not None else None
    version = capture_version(line.client_version)
    in_session = places.within.session is not None
    return FoundItem(
        id="",
        project_id=line.project_id,
        project_key=project.key if project else None,
        project_root_path=one_line(project.root) if project and project.root else None,
        project_root_match=_is_inside(project, line),
        session_id=line.id,
        external_session_id=one_line(line.external_id),
        cwd=one_line(line.cwd) if line.cwd else None,
        runtime=line.flavor,
        turn_id=None,
        type="",
        title="",
        summary="",
        updated_at=None,
        last_captured_turn_at=iso(line.ended_at),
        retrieval_scope="session" if in_session else "project",
        session_filter_applied=in_session,
        producer_version=version.producer_version,
        capture_version_status=version.capture_version_status,
        capture_version_scope=version.capture_version_scope,
        capture_version_inferred=version.capture_version_inferred,
    )


def _ranked_item(places: _Places, result: _Result, stems: Sequence[str]) -> FoundItem:
    if result.observation is not None:
        item = _item(places, result.line, result.observation)
    else:
        assert result.event is not None  # a result is one or the other
        item = _event_item(places, result.line, result.event, snippet(result.text, stems))
    lines = {line.id: line for line, _ in result.same}
    sessions = tuple(sorted(lines))[:MAX_DUPLICATE_SESSIONS]
    latest = max((at or 0 for _, at in result.same), default=0) or None
    captured = max((line.ended_at or 0 for line in lines.values()), default=0) or latest
    cure = places.cures.get(result.event.id) if result.event else None
    answer = places.answers.get(result.event.id) if result.event else None
    if answer is not None:
        cure = _steps(answer)
        item = _as_cure(item, answer)
    return msgspec.structs.replace(
        item,
        cure=cure or UNSET,
        dedupe_applied=len(result.same) > 1,
        duplicate_count=len(result.same),
        duplicate_session_ids=sessions,
        duplicate_external_session_ids=tuple(
            one_line(lines[session].external_id) for session in sessions
        ),
        duplicate_latest_updated_at=iso(latest),
        duplicate_latest_captured_turn_at=iso(captured),
    )


def _is_inside(project: Project | None, line: SessionLine) -> bool:
    return project is not None and line.cwd is not None and not is_outside(project, line)
