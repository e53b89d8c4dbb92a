"""mem_session_list: the sessions of a project, each with a label, a lane and where it came from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import msgspec
from msgspec import UNSET, UnsetType

from session_memory.clock import iso
from session_memory.core.schema import Project
from session_memory.core.text.safe_text import one_line
from session_memory.recall.context import RecallContext
from session_memory.recall.lanes import LaneConfidence, LaneSource, lane_of
from session_memory.recall.requests import SessionListRequest
from session_memory.recall.scope import is_outside, known_project
from session_memory.recall.session_fields import capture_version, display_label, short_line
from session_memory.store.scopes import SessionCounts, SessionLine

PREVIEW_CHARS = 180
CROSS_PROJECT = "captured outside the project's root; left out of project-wide answers"


class SessionItem(msgspec.Struct, frozen=True, kw_only=True):
    """One session of the list."""

    id: int
    session_id: int
    project_id: int
    runtime: str
    external_session_id: str
    started_at: str | None
    ended_at: str | None
    cwd: str | None
    project_root_path: str | None
    project_root_match: bool
    cross_project_capture_warning: str | UnsetType = UNSET
    turn_count: int
    observation_count: int
    last_turn_at: str | None
    first_input_preview: str | None
    display_label: str
    label_source: Literal["first_input", "embedded_user_prompt", "fallback"]
    label_quality: Literal["medium", "low"]
    first_operational_input_preview: str | None
    internal_prompt_suppressed: bool
    low_value_session: bool
    low_value_reason: str | None
    inferred_sub_scope: str | None
    sub_scope_candidates: tuple[str, ...]
    sub_scope_source: LaneSource | None
    sub_scope_confidence: LaneConfidence
    producer_version: str | None
    capture_version_status: Literal["known_session_metadata", "unknown"]
    capture_version_scope: Literal["session", "none"]
    capture_version_inferred: bool


class SessionListAnswer(msgspec.Struct, frozen=True):
    """mem_session_list."""

    items: tuple[SessionItem, ...]
    count: int
    project_key: str


def session_list(context: RecallContext, request: SessionListRequest) -> SessionListAnswer:
    """mem_session_list: every conversation of the project, also those captured elsewhere."""
    store = context.store
    project = known_project(store, request.project_key)
    lines = [line for line in store.scopes.lines(project.id) if not line.parent]
    likely = [line.id for line in lines[: overfetch(request.count)]]
    matching = matching_sessions(request, project, lines, store.scopes.counts(likely))
    counts = store.scopes.counts([line.id for line in matching])
    items = tuple(_session_item(line, project, counts.get(line.id)) for line in matching)
    return SessionListAnswer(items, len(items), project.key)


def _session_item(line: SessionLine, project: Project, counts: SessionCounts | None) -> SessionItem:
    lane = lane_of(line, project)
    counts = counts or SessionCounts()
    request = counts.first_request or line.label
    preview = short_line(request, PREVIEW_CHARS) if request else None
    outside = is_outside(project, line)
    version = capture_version(line.client_version)
    return SessionItem(
        id=line.id,
        session_id=line.id,
        project_id=project.id,
        runtime=line.flavor,
        external_session_id=one_line(line.external_id),
        started_at=iso(line.started_at),
        ended_at=iso(line.ended_at),
        cwd=one_line(line.cwd) if line.cwd else None,
        project_root_path=one_line(project.root) if project.root else None,
        project_root_match=project.root is not None and line.cwd is not None and not outside,
        cross_project_capture_warning=CROSS_PROJECT if outside else UNSET,
        turn_count=counts.turns,
        observation_count=counts.observations,
        last_turn_at=iso(line.ended_at),
        first_input_preview=preview,
        display_label=display_label(line, lane),
        label_source="first_input" if line.label else "fallback",
        label_quality="medium" if line.label else "low",
        first_operational_input_preview=preview,
        internal_prompt_suppressed=line.suppressed,
        low_value_session=line.low_value is not None,
        low_value_reason=line.low_value,
        inferred_sub_scope=lane.name,
        sub_scope_candidates=lane.candidates,
        sub_scope_source=lane.source,
        sub_scope_confidence=lane.confidence,
        producer_version=version.producer_version,
        capture_version_status=version.capture_version_status,
        capture_version_scope=version.capture_version_scope,
        capture_version_inferred=version.capture_version_inferred,
    )


def overfetch(limit: int) -> int:
    """How many candidates to read in full for `limit` matches."""
    return min(max(5 * limit, limit + 20), 250)


def matching_sessions(
    request: SessionListRequest,
    project: Project,
    lines: Sequence[SessionLine],
    counts: dict[int, SessionCounts],
) -> list[SessionLine]:
    """The sessions that match, latest first.

    Sessions without counts are searched too, without their first request: a match may lie far back.
    """
    phrases = (request.query, request.sub_scope_hint)
    words = [phrase.casefold().strip() for phrase in phrases if phrase]
    if not any(words):
        return list(lines[: request.count])
    matching: list[SessionLine] = []
    for line in lines:
        text = _searchable_text(line, project, counts.get(line.id))
        if all(word in text for word in words):
            matching.append(line)
            if len(matching) == request.count:
                break
    return matching


def _searchable_text(line: SessionLine, project: Project, counts: SessionCounts | None) -> str:
    """Label, lane, first request, title, directory and native id."""
    lane = lane_of(line, project)
    parts = (
        display_label(line, lane),
        *lane.candidates,
        counts.first_request if counts else None,
        line.title,
        line.cwd,
        line.external_id,
    )
    return "\n".join(part for part in parts if part).casefold()
