"""Which sessions are read into memory next: pure, newest first, a few at a time."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence

from session_memory.core.schema import Session

SCAN_LIMIT = 200
"""How many sessions are looked at; older ones are reached by hand (`memory extract --now`)."""
ARCHIVED = "archived_sessions"
"""The folder into which Codex moves what its user put away."""

_AT_MEMORY = re.compile(r"[\\/]memories[\\/][0-9a-f]{64}[\\/]")


def is_archived(files: Sequence[str]) -> bool:
    """Whether a session lies in the archive of its agent only."""
    return bool(files) and all(ARCHIVED in file.replace("\\", "/").split("/") for file in files)


def why_not(session: Session, files: Sequence[str] = ()) -> str | None:
    """Why a session never feeds a memory by itself, or None."""
    if _AT_MEMORY.search(f"{session.cwd or ''}/"):
        return "a session of our own, at work on a memory"
    if session.parent_external_id is not None or session.source_kind == "subagent":
        return "a sub-agent's session: its parent tells of it"
    if session.source_kind == "internal":
        return "a session of a program, not of a person"
    if session.source_kind == "exec":
        return "a run without a person; extract it by hand if it matters"
    return "archived" if is_archived(files) else None


def updated_at(session: Session) -> int:
    """When a session last grew; one without any time counts as never."""
    return session.ended_at or session.started_at or 0


def scanned(
    sessions: Sequence[Session],
    files: Mapping[int, Sequence[str]],
    most: int | None = SCAN_LIMIT,
) -> list[Session]:
    """The newest sessions that may feed a memory, as many as are looked at; None means all."""
    fit = [session for session in sessions if why_not(session, files.get(session.id, ())) is None]
    newest = sorted(fit, key=updated_at, reverse=True)  # stable: equal times keep their order
    return newest[:most]


def candidates(
    sessions: Sequence[Session],
    known: Mapping[int, int],
    current: Collection[str],
    max_items: int,
) -> list[Session]:
    """Sessions to read, in the order given: not at work now, and unknown or grown since.

    `known` says of each remembered session how old it was when it was read; equal means fresh.
    `current` names sessions that are at work, as `flavor:id`.
    """
    chosen: list[Session] = []
    for session in sessions:
        if len(chosen) >= max_items:
            break
        if f"{session.flavor}:{session.external_id}" in current:
            continue
        remembered = known.get(session.id)
        if remembered is None or remembered < updated_at(session):
            chosen.append(session)
    return chosen
