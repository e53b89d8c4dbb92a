"""How broad a scope is: its sessions and lanes, the warning, and how to narrow to one session."""

from __future__ import annotations

from typing import Literal

import msgspec

from session_memory.clock import iso
from session_memory.core.text.safe_text import one_line
from session_memory.recall.lanes import lane_of
from session_memory.recall.routing import PLACEHOLDER, suggested_call
from session_memory.recall.scope import Scope
from session_memory.recall.scope_resolve import MAX_LANES, CandidateLane, lanes_of
from session_memory.recall.session_fields import capture_version, display_label
from session_memory.store.port import RecallStore
from session_memory.store.scopes import SessionCounts, SessionLine

MAX_SOURCES = 6
WarningCode = Literal["multi_session_project_scope", "multi_lane_project_scope"]


class ScopeWarning(msgspec.Struct, frozen=True):
    """Why an answer does not describe the active thread."""

    code: WarningCode
    severity: Literal["warning"]
    message: str
    recommendation: str


class Narrowing(msgspec.Struct, frozen=True):
    """How to get from a project to one session of it."""

    reason: str
    candidate_sub_scopes: tuple[str, ...]
    next_steps: tuple[str, ...]
    confidence: Literal["high", "medium"]


class SourceSession(msgspec.Struct, frozen=True):
    """A session an answer draws on."""

    session_id: int
    external_session_id: str
    display_label: str
    inferred_sub_scope: str | None
    cwd: str | None
    last_turn_at: str | None
    turn_count: int
    producer_version: str | None
    capture_version_status: str
    capture_version_scope: str
    capture_version_inferred: bool


class Breadth(msgspec.Struct, frozen=True):
    """The sessions and lanes of a scope."""

    session_count: int
    lanes: tuple[CandidateLane, ...]
    sources: tuple[SourceSession, ...]
    broad: bool

    @property
    def several_lanes(self) -> bool:
        """Whether there was work in more than one part of the project."""
        return len(self.lanes) > 1

    @property
    def lane_names(self) -> tuple[str, ...]:
        """The lanes that have a name, latest first."""
        names = [lane.inferred_sub_scope for lane in self.lanes if lane.inferred_sub_scope]
        return tuple(names[:MAX_LANES])


def measure_breadth(store: RecallStore, scope: Scope) -> Breadth:
    """The sessions and lanes of a scope; only the latest sessions are named as sources."""
    named = scope.lines[:MAX_SOURCES]
    counts = store.scopes.counts([line.id for line in named])
    return Breadth(
        session_count=len(scope.lines),
        lanes=lanes_of(scope),
        sources=tuple(_source(line, scope, counts) for line in named),
        broad=scope.broad,
    )


def scope_warning(breadth: Breadth, code: WarningCode) -> ScopeWarning | None:
    """The warning about a broad scope; None for any other."""
    if not breadth.broad:
        return None
    lanes = f" in {len(breadth.lanes)} lanes" if breadth.several_lanes else ""
    return ScopeWarning(
        code=code,
        severity="warning",
        message=f"{breadth.session_count} sessions{lanes}: not the active thread.",
        recommendation="Choose one session before relying on this for continuity.",
    )


def lane_code(breadth: Breadth) -> WarningCode:
    """Several lanes are a stronger reason to narrow than several sessions of one lane."""
    return "multi_lane_project_scope" if breadth.several_lanes else "multi_session_project_scope"


def narrowing(breadth: Breadth, key: str) -> Narrowing | None:
    """The steps from a broad scope to one session."""
    if not breadth.broad:
        return None
    return Narrowing(
        reason=lane_code(breadth),
        candidate_sub_scopes=breadth.lane_names,
        next_steps=(
            suggested_call("mem_bootstrap_context", project_key=key, thread_hint=PLACEHOLDER),
            suggested_call("mem_session_list", project_key=key),
            "mem_context_pack with the session_id of the thread that is meant",
        ),
        confidence="high" if breadth.several_lanes else "medium",
    )


def _source(line: SessionLine, scope: Scope, counts: dict[int, SessionCounts]) -> SourceSession:
    lane = lane_of(line, scope.project)
    version = capture_version(line.client_version)
    return SourceSession(
        session_id=line.id,
        external_session_id=one_line(line.external_id),
        display_label=display_label(line, lane),
        inferred_sub_scope=lane.name,
        cwd=one_line(line.cwd) if line.cwd else None,
        last_turn_at=iso(line.ended_at),
        turn_count=(counts.get(line.id) or SessionCounts()).turns,
        producer_version=version.producer_version,
        capture_version_status=version.capture_version_status,
        capture_version_scope=version.capture_version_scope,
        capture_version_inferred=version.capture_version_inferred,
    )
