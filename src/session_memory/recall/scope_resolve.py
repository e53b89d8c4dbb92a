"""The answers of mem_scope_resolve and the lane inventory that other answers carry."""

from __future__ import annotations

import msgspec

from session_memory.clock import iso
from session_memory.core.text.safe_text import one_line
from session_memory.recall.lanes import LaneGroup, group, lane_of
from session_memory.recall.requests import ScopeResolveRequest
from session_memory.recall.routing import (
    PLACEHOLDER,
    Confidence,
    LaneScore,
    Routed,
    Routing,
    Score,
    call,
    confidence,
    hint_of,
    route,
)
from session_memory.recall.scope import Scope
from session_memory.recall.session_list import display_label
from session_memory.store.scopes import SessionCounts

MAX_LANES = 8
MAX_IDS = 8
FEW_IDS = 3


class RecommendedScope(msgspec.Struct, frozen=True):
    """The lane a hint means; never a session."""

    inferred_sub_scope: str | None
    confidence: Confidence
    score: int


class Candidate(msgspec.Struct, frozen=True):
    """A session that may be meant."""

    session_id: int
    external_session_id: str
    inferred_sub_scope: str | None
    display_label: str
    cwd: str | None
    last_turn_at: str | None
    turn_count: int
    observation_count: int
    score: int
    confidence: Confidence
    signals_used: tuple[str, ...]
    matched_tokens: tuple[str, ...]
    recommended_call: str


class CandidateLane(msgspec.Struct, frozen=True):
    """A lane that may be meant."""

    inferred_sub_scope: str | None
    session_count: int
    session_ids: tuple[int, ...]
    external_session_ids: tuple[str, ...]
    latest_turn_at: str | None
    top_score: int = 0
    confidence: Confidence = "none"
    signals_used: tuple[str, ...] = ()
    matched_tokens: tuple[str, ...] = ()
    recommended_call: str = ""


class ScopeResolveAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """mem_scope_resolve."""

    project_key: str
    hint: str | None
    routing_decision: Routing
    recommended_scope: RecommendedScope | None
    candidates: tuple[Candidate, ...]
    candidate_lanes: tuple[CandidateLane, ...]
    candidate_sub_scopes: tuple[str, ...]
    session_count: int
    multiple_sessions_detected: bool
    multiple_lanes_detected: bool
    broad_scope_detected: bool
    confidence: Confidence
    signals_used: tuple[str, ...]
    fallback_reason: str | None
    recommended_call: str
    do_not_fetch_project_wide_pack: bool
    next_action: str
    writes_performed: bool = False


_NEXT: dict[Routing, str] = {
    "needs_hint": "Give a hint (thread title, sub-scope or path), or pick a session with"
    " mem_session_list.",
    "no_match": "Nothing stored fits this hint: say it otherwise, or pick a session with"
    " mem_session_list.",
    "lane_resolved": "Pick one session of this lane with mem_session_list, then call"
    " mem_context_pack with its session_id.",
    "ambiguous": "Several lanes fit: say more, or pick a session with mem_session_list.",
}
_FALLBACK: dict[Routing, str | None] = {
    "needs_hint": "no_hint_given",
    "no_match": "no_evidence_for_hint",
    "lane_resolved": None,
    "ambiguous": "several_lanes_fit",
}


def routed(scope: Scope, request: ScopeResolveRequest) -> Routed:
    """The routing of a request."""
    return route(scope, hint_of(request, scope.project))


def shown_candidates(found: Routed, limit: int) -> list[Score]:
    """The sessions to name: those with evidence, or without any hint the latest."""
    fitting = [one for one in found.scores if one.points > 0]
    return (fitting or list(found.scores))[:limit]


def answer(
    scope: Scope,
    request: ScopeResolveRequest,
    found: Routed,
    counts: dict[int, SessionCounts],
) -> ScopeResolveAnswer:
    """What the routing means for the caller; nothing is selected for it."""
    key = scope.project.key
    top = found.top
    several = len(found.lanes) > 1
    second = found.scores[1].points if len(found.scores) > 1 else 0
    return ScopeResolveAnswer(
        project_key=key,
        hint=one_line(found.hint.text) or None,
        routing_decision=found.decision,
        recommended_scope=None
        if top is None
        else RecommendedScope(top.name, found.confidence, top.best.points),
        candidates=tuple(
            _candidate(one, key, second, counts) for one in shown_candidates(found, request.count)
        ),
        candidate_lanes=tuple(_lane(one, key, found) for one in found.lanes[:MAX_LANES]),
        candidate_sub_scopes=tuple(one.name for one in found.lanes[:MAX_LANES] if one.name),
        session_count=len(scope.lines),
        multiple_sessions_detected=len(scope.lines) > 1,
        multiple_lanes_detected=several,
        broad_scope_detected=scope.broad,
        confidence=found.confidence,
        signals_used=top.best.signals if top else (),
        fallback_reason=_FALLBACK[found.decision],
        recommended_call=_next_call(found, key),
        do_not_fetch_project_wide_pack=scope.broad or found.hint.given,
        next_action=_NEXT[found.decision],
    )


def inventory(scope: Scope) -> tuple[CandidateLane, ...]:
    """The lanes of a scope, latest first, without a hint; few ids, as it goes along with more."""
    pairs = [(line, lane_of(line, scope.project)) for line in scope.lines]
    return tuple(_plain(one, scope.project.key) for one in group(pairs))


def _plain(lane: LaneGroup, key: str) -> CandidateLane:
    return CandidateLane(
        inferred_sub_scope=lane.name,
        session_count=len(lane.lines),
        session_ids=tuple(line.id for line in lane.lines[:FEW_IDS]),
        external_session_ids=tuple(one_line(line.external_id) for line in lane.lines[:FEW_IDS]),
        latest_turn_at=iso(lane.lines[0].ended_at),
        recommended_call=_list_call(key, lane.name),
    )


def _lane(lane: LaneScore, key: str, found: Routed) -> CandidateLane:
    best = lane.best
    others = [one.best.points for one in found.lanes if one is not lane]
    lines = [one.line for one in lane.scores]
    latest = max((line.ended_at for line in lines if line.ended_at is not None), default=None)
    return CandidateLane(
        inferred_sub_scope=lane.name,
        session_count=len(lines),
        session_ids=tuple(line.id for line in lines[:MAX_IDS]),
        external_session_ids=tuple(one_line(line.external_id) for line in lines[:MAX_IDS]),
        latest_turn_at=iso(latest),
        top_score=best.points,
        confidence=confidence(best.points, max(others, default=0)),
        signals_used=best.signals,
        matched_tokens=tuple(one_line(word) for word in best.matched),
        recommended_call=_list_call(key, lane.name),
    )


def _candidate(one: Score, key: str, second: int, counts: dict[int, SessionCounts]) -> Candidate:
    line = one.line
    said = counts.get(line.id) or SessionCounts()
    return Candidate(
        session_id=line.id,
        external_session_id=one_line(line.external_id),
        inferred_sub_scope=one.lane.name,
        display_label=display_label(line, one.lane),
        cwd=one_line(line.cwd) if line.cwd else None,
        last_turn_at=iso(line.ended_at),
        turn_count=said.turns,
        observation_count=said.observations,
        score=one.points,
        confidence=confidence(one.points, second),
        signals_used=one.signals,
        matched_tokens=tuple(one_line(word) for word in one.matched),
        recommended_call=call("mem_context_pack", project_key=key, session_id=line.id),
    )


def _list_call(key: str, lane: str | None) -> str:
    return call("mem_session_list", project_key=key, sub_scope_hint=lane or PLACEHOLDER)


def _next_call(found: Routed, key: str) -> str:
    """With a lane, its sessions; else the question again, with a better hint in the placeholder."""
    if found.top is not None:
        return _list_call(key, found.top.name)
    return call("mem_bootstrap_context", project_key=key, thread_hint=PLACEHOLDER)
