"""Events that match a search: with a snippet around the words, and equal texts once."""

from __future__ import annotations

import re
from collections.abc import Iterable

import msgspec

from session_memory.clock import iso
from session_memory.core.schema import SessionEvent
from session_memory.core.text.safe_text import one_line
from session_memory.core.text.search_terms import terms_of
from session_memory.errors import NotFound
from session_memory.recall.observation_ranking import stem
from session_memory.recall.requests import SearchRequest
from session_memory.recall.scope import Scope, is_outside, is_program
from session_memory.recall.session_list import overfetch
from session_memory.recall.vectors import VectorRanking, reordered
from session_memory.store.port import RecallStore, SessionReader, TextFilter
from session_memory.store.scopes import SessionLine

SNIPPET_CHARS = 240
LEAD_CHARS = 60
"""Text shown before the first matching word."""
_SPACE = re.compile(r"\s+")


class EventHit(msgspec.Struct, frozen=True, kw_only=True):
    """One event; `duplicate_count` is how often the same text was found."""

    event_id: int
    session_id: int
    external_session_id: str
    project_id: int | None
    runtime: str
    kind: str
    tool: str | None
    at: str | None
    is_error: bool
    score: float
    snippet: str
    duplicate_count: int = 1
    memory_kind: str = "event"


def search_events(
    store: RecallStore, request: SearchRequest, scope: Scope | None, vectors: VectorRanking | None
) -> tuple[EventHit, ...]:
    """The best events of a scope; more are read than requested, as many have the same text."""
    scores = dict(
        store.search(request.query, overfetch(request.count), text_filter(request, scope))
    )
    candidates = [
        (event, line, _SPACE.sub(" ", text))
        for event in store.scopes.events(list(scores))
        if (line := store.scopes.line(event.session_id)) is not None and is_searched(line, scope)
        if (text := _text(store, event)) is not None
    ]
    if vectors is not None:
        similarity = vectors.similarity(request.query, [text for _, _, text in candidates])
        order = reordered(
            [scores[event.id] for event, _, _ in candidates], similarity, vectors.weight
        )
        candidates = [candidates[index] for index in order]
    stems = [stem(word) for word in terms_of(request.query).words]
    hits: dict[str, EventHit] = {}
    for event, line, text in candidates:
        earlier = hits.get(text)
        if earlier is not None:
            count = earlier.duplicate_count + 1
            hits[text] = msgspec.structs.replace(earlier, duplicate_count=count)
        elif len(hits) < request.count:
            hits[text] = _hit(event, line, snippet(text, stems), scores[event.id])
    return tuple(hits.values())


def text_filter(request: SearchRequest, scope: Scope | None) -> TextFilter:
    """Which events a request may find."""
    return TextFilter(
        session=scope.session.id if scope and scope.session else None,
        project_id=scope.project.id if scope and not scope.session else None,
        flavor=request.flavor,
        kinds=request.kinds,
        tool=request.tool,
        file=request.file,
        since=request.since,
        until=request.until,
        errors_only=request.errors_only,
    )


def is_searched(line: SessionLine | None, scope: Scope | None) -> bool:
    """Whether a search covers a session: not a program's own, nor one that ran elsewhere (IDN-12).

    A search limited to one session covers that session wherever it ran.
    """
    if line is None or is_program(line):
        return False
    return scope is None or scope.session is not None or not is_outside(scope.project, line)


def _hit(event: SessionEvent, line: SessionLine, snippet: str, score: float) -> EventHit:
    return EventHit(
        event_id=event.id,
        session_id=line.id,
        external_session_id=one_line(line.external_id),
        project_id=line.project_id,
        runtime=line.flavor,
        kind=event.kind,
        tool=one_line(event.tool) if event.tool else None,
        at=iso(event.at),
        is_error=event.is_error,
        score=round(score, 4),
        snippet=snippet,
    )


def _text(store: SessionReader, event: SessionEvent) -> str | None:
    try:
        return event.command or store.text(event)
    except NotFound:  # evicted meanwhile
        return None


def snippet(text: str, stems: Iterable[str], limit: int = SNIPPET_CHARS) -> str:
    """The part of a text around the first matching word, on one line."""
    low = text.lower()
    first = min((index for each in stems if (index := low.find(each)) >= 0), default=0)
    start = max(0, first - LEAD_CHARS)
    cut = text[start : start + limit]
    before, after = "..." if start else "", "..." if start + limit < len(text) else ""
    return one_line(f"{before}{cut}{after}")
