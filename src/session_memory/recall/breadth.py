"""How broad a scope is, and what to do about it: warnings, lanes, the way to one session."""

from __future__ import annotations

from typing import Literal

import msgspec

from session_memory.clock import iso
from session_memory.core.text.safe_text import one_line
from session_memory.recall.lanes import lane_of
from session_memory.recall.routing import PLACEHOLDER, call
from session_memory.recall.scope import Scope
from session_memory.recall.scope_resolve import MAX_LANES, CandidateLane, inventory
from session_memory.recall.session_list import capture_version, display_label
from session_memory.store.scopes import SessionCounts

MAX_SOURCES = 6
WarningCode = Literal["multi_session_project_scope", "multi_lane_project_scope"]


class ScopeWarning(msgspec.Struct, frozen=True):
    """Why an answer is no account of the active thread."""

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
        """Whether work went on in more than one part of the project."""
        return len(self.lanes) > 1

    @property
    def names(self) -> tuple[str, ...]:
        """The lanes that have a name, latest first."""
        return tuple(one.inferred_sub_scope for one in self.lanes if one.inferred_sub_scope)[
            :MAX_LANES
        ]


def breadth(scope: Scope, counts: dict[int, SessionCounts]) -> Breadth:
    """Take stock of a scope; `counts` are of the sources that will be named."""
    return Breadth(
        session_count=len(scope.lines),
        lanes=inventory(scope),
        sources=tuple(_source(scope, index, counts) for index in range(_named(scope))),
        broad=scope.broad,
    )


def source_ids(scope: Scope) -> list[int]:
    """The sessions that will be named as sources."""
    return [line.id for line in scope.lines[:MAX_SOURCES]]


def warning(found: Breadth, code: WarningCode) -> ScopeWarning | None:
    """What to say of a broad scope; nothing of any other."""
    if not found.broad:
        return None
    lanes = f" in {len(found.lanes)} lanes" if found.several_lanes else ""
    return ScopeWarning(
        code=code,
        severity="warning",
        message=f"{found.session_count} sessions{lanes}: not the active thread.",
        recommendation="Choose one session before relying on this for continuity.",
    )


def lane_code(found: Breadth) -> WarningCode:
    """Several lanes are worse than several sessions of one."""
    return "multi_lane_project_scope" if found.several_lanes else "multi_session_project_scope"


def narrowing(found: Breadth, key: str) -> Narrowing | None:
    """The steps from a broad scope to one session."""
    if not found.broad:
        return None
    return Narrowing(
        reason=lane_code(found),
        candidate_sub_scopes=found.names,
        next_steps=(
            call("mem_bootstrap_context", project_key=key, thread_hint=PLACEHOLDER),
            call("mem_session_list", project_key=key),
            "mem_context_pack with the session_id of the thread that is meant",
        ),
        confidence="high" if found.several_lanes else "medium",
    )


def _named(scope: Scope) -> int:
    return min(len(scope.lines), MAX_SOURCES)


def _source(scope: Scope, index: int, counts: dict[int, SessionCounts]) -> SourceSession:
    line = scope.lines[index]
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
