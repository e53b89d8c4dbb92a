"""mem_session_list: the sessions of a project, each with a label, a lane and where it came from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import msgspec
from msgspec import UNSET, UnsetType

from session_memory.clock import iso
from session_memory.core.schema import Project
from session_memory.core.text.masks import excerpt
from session_memory.core.text.safe_text import one_line
from session_memory.core.text.similarity import untagged
from session_memory.recall.lanes import Lane, LaneConfidence, LaneSource, lane_of
from session_memory.recall.requests import SessionListRequest
from session_memory.recall.scope import is_outside
from session_memory.store.scopes import SessionCounts, SessionLine

PREVIEW_CHARS = 180
LABEL_CHARS = 120
CROSS_PROJECT = "captured outside the project's root; left out of project-wide answers"


class CaptureVersion(msgspec.Struct, frozen=True):
    """Which version of the agent wrote a session: known from its log, or not known (IDN-11)."""

    producer_version: str | None
    capture_version_status: Literal["known_session_metadata", "unknown"]
    capture_version_scope: Literal["session", "none"]
    capture_version_inferred: bool = False


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


def capture_version(client_version: str | None) -> CaptureVersion:
    """What the session's own metadata says; nothing is inferred from anything else."""
    if client_version:
        return CaptureVersion(one_line(client_version), "known_session_metadata", "session")
    return CaptureVersion(None, "unknown", "none")


def display_label(line: SessionLine, lane: Lane) -> str:
    """`<lane or native id> · <what was asked>`; never the prompt of a program."""
    place = lane.name or line.external_id
    said = line.label or line.title
    return shown(f"{place} · {said}" if said else place, LABEL_CHARS)


def shown(text: str, limit: int) -> str:
    """Stored text on one line, harmless to whoever reads it."""
    return one_line(excerpt(untagged(text), limit))[:limit]


def describe(line: SessionLine, project: Project, counts: SessionCounts | None) -> SessionItem:
    """Everything the list tells of one session."""
    lane = lane_of(line, project)
    counts = counts or SessionCounts()
    asked = counts.first_request or line.label
    preview = shown(asked, PREVIEW_CHARS) if asked else None
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
    """How many to look at for `limit` that match; those beyond are matched by their line alone."""
    return min(max(5 * limit, limit + 20), 250)


def wanted(
    request: SessionListRequest,
    project: Project,
    lines: Sequence[SessionLine],
    counts: dict[int, SessionCounts],
) -> list[SessionLine]:
    """The sessions that match, latest first. All are looked through: a match may lie far back."""
    words = [one.casefold().strip() for one in (request.query, request.sub_scope_hint) if one]
    if not any(words):
        return list(lines[: request.count])
    found: list[SessionLine] = []
    for line in lines:
        told = _told(line, project, counts.get(line.id))
        if all(word in told for word in words):
            found.append(line)
            if len(found) == request.count:
                break
    return found


def _told(line: SessionLine, project: Project, counts: SessionCounts | None) -> str:
    """All that can be asked for in a session: label, lane, preview, directory, native id."""
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
