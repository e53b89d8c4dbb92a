"""mem_scope_resolve: which lanes and sessions a hint may mean; and the lanes of a scope."""

from __future__ import annotations

import msgspec

from session_memory.clock import iso
from session_memory.core.text.safe_text import one_line
from session_memory.recall.context import RecallContext
from session_memory.recall.lanes import LaneGroup, group_by_lane
from session_memory.recall.requests import ScopeResolveRequest
from session_memory.recall.routing import (
    PLACEHOLDER,
    Confidence,
    LaneScore,
    Routing,
    RoutingDecision,
    SessionScore,
    confidence,
    hint_of,
    route,
    suggested_call,
)
from session_memory.recall.scope import Scope, open_scope
from session_memory.recall.session_fields import display_label
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
    routing_decision: RoutingDecision
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


_NEXT: dict[RoutingDecision, str] = {
    "needs_hint": "Give a hint (thread title, sub-scope or path), or pick a session with"
    " mem_session_list.",
    "no_match": "Nothing stored fits this hint: say it otherwise, or pick a session with"
    " mem_session_list.",
    "lane_resolved": "Pick one session of this lane with mem_session_list, then call"
    " mem_context_pack with its session_id.",
    "ambiguous": "Several lanes fit: say more, or pick a session with mem_session_list.",
}
_FALLBACK: dict[RoutingDecision, str | None] = {
    "needs_hint": "no_hint_given",
    "no_match": "no_evidence_for_hint",
    "lane_resolved": None,
    "ambiguous": "several_lanes_fit",
}


def scope_resolve(context: RecallContext, request: ScopeResolveRequest) -> ScopeResolveAnswer:
    """mem_scope_resolve."""
    return resolve_hint(context, open_scope(context.store, request.project_key), request)


def resolve_hint(
    context: RecallContext, scope: Scope, request: ScopeResolveRequest
) -> ScopeResolveAnswer:
    """What the hint of a request means in a scope; no session is selected for the caller."""
    key = scope.project.key
    routing = route(scope, hint_of(request, scope.project))
    top = routing.top
    candidates = _candidates(routing, request.count)
    counts = context.store.scopes.counts([session.line.id for session in candidates])
    second = routing.scores[1].points if len(routing.scores) > 1 else 0
    lanes = routing.lanes[:MAX_LANES]
    return ScopeResolveAnswer(
        project_key=key,
        hint=one_line(routing.hint.text) or None,
        routing_decision=routing.decision,
        recommended_scope=None
        if top is None
        else RecommendedScope(top.name, routing.confidence, top.best.points),
        candidates=tuple(_candidate(session, key, second, counts) for session in candidates),
        candidate_lanes=tuple(_scored_lane(lane, key, routing) for lane in lanes),
        candidate_sub_scopes=tuple(lane.name for lane in lanes if lane.name),
        session_count=len(scope.lines),
        multiple_sessions_detected=len(scope.lines) > 1,
        multiple_lanes_detected=len(routing.lanes) > 1,
        broad_scope_detected=scope.broad,
        confidence=routing.confidence,
        signals_used=top.best.signals if top else (),
        fallback_reason=_FALLBACK[routing.decision],
        recommended_call=_next_call(routing, key),
        do_not_fetch_project_wide_pack=scope.broad or routing.hint.is_given,
        next_action=_NEXT[routing.decision],
    )


def lanes_of(scope: Scope) -> tuple[CandidateLane, ...]:
    """The lanes of a scope without a hint, latest first; few ids each, to keep answers short."""
    key = scope.project.key
    return tuple(_lane(lane, key) for lane in group_by_lane(scope.lines, scope.project))


def _candidates(routing: Routing, limit: int) -> list[SessionScore]:
    """The sessions to name: those with evidence, or the latest if none has any."""
    fitting = [session for session in routing.scores if session.points > 0]
    return (fitting or list(routing.scores))[:limit]


def _lane(lane: LaneGroup, key: str) -> CandidateLane:
    return CandidateLane(
        inferred_sub_scope=lane.name,
        session_count=len(lane.lines),
        session_ids=tuple(line.id for line in lane.lines[:FEW_IDS]),
        external_session_ids=tuple(one_line(line.external_id) for line in lane.lines[:FEW_IDS]),
        latest_turn_at=iso(lane.lines[0].ended_at),
        recommended_call=_list_call(key, lane.name),
    )


def _scored_lane(lane: LaneScore, key: str, routing: Routing) -> CandidateLane:
    best = lane.best
    others = [other.best.points for other in routing.lanes if other is not lane]
    lines = [session.line for session in lane.scores]
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


def _candidate(
    session: SessionScore, key: str, second: int, counts: dict[int, SessionCounts]
) -> Candidate:
    line = session.line
    count = counts.get(line.id) or SessionCounts()
    return Candidate(
        session_id=line.id,
        external_session_id=one_line(line.external_id),
        inferred_sub_scope=session.lane.name,
        display_label=display_label(line, session.lane),
        cwd=one_line(line.cwd) if line.cwd else None,
        last_turn_at=iso(line.ended_at),
        turn_count=count.turns,
        observation_count=count.observations,
        score=session.points,
        confidence=confidence(session.points, second),
        signals_used=session.signals,
        matched_tokens=tuple(one_line(word) for word in session.matched),
        recommended_call=suggested_call("mem_context_pack", project_key=key, session_id=line.id),
    )


def _list_call(key: str, lane: str | None) -> str:
    hint = lane or PLACEHOLDER
    return suggested_call("mem_session_list", project_key=key, sub_scope_hint=hint)


def _next_call(routing: Routing, key: str) -> str:
    """With a lane, list its sessions; else ask again with a better hint."""
    if routing.top is not None:
        return _list_call(key, routing.top.name)
    return suggested_call("mem_bootstrap_context", project_key=key, thread_hint=PLACEHOLDER)
