"""Which sessions are read into memory next: newest first, a few at a time."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence

import msgspec

from session_memory.core.schema import Project, Session
from session_memory.memory.known_session import project_roots
from session_memory.memory.layout import normalised, root_of
from session_memory.store.port import SessionQuery, Store

SCAN_LIMIT = 200
"""How many sessions are looked at; older ones only by hand (`project memory extract --now`)."""
ARCHIVED = "archived_sessions"
"""The folder into which Codex moves archived sessions."""

_IN_MEMORY_FOLDER = re.compile(r"[\\/]memories[\\/][0-9a-f]{64}[\\/]")


class Candidate(msgspec.Struct, frozen=True):
    """A session to read, with the project root it feeds and the log it came from."""

    session: Session
    root: str
    """Empty if the directory it ran in is unknown."""
    path: str
    """Path of its log, the newest if there are several."""
    roots: tuple[str, ...] = ()
    damaged: int = 0
    """How many lines of its logs could not be read."""


class ExtractRequest(msgspec.Struct, frozen=True):
    """Which sessions to read: new ones, those of one project, or a single one."""

    current: frozenset[str] = frozenset()
    """Sessions that are still running, as `flavor:id`; they are not read yet."""
    session: int | None = None
    root: str | None = None
    limit: int = 8
    per_root: int | None = None
    """Look only at so many sessions of each project, the newest."""
    everything: bool = False
    """Look at all sessions, however old."""


def select_candidates(store: Store, request: ExtractRequest) -> list[Candidate]:
    """The sessions to read next; a single requested session is read in any case."""
    projects = {project.id: project for project in store.projects()}
    if request.session is not None:
        sessions = [store.session(request.session)]
    else:
        all_sessions = _of_root(store.sessions(SessionQuery()), request.root, projects)
        files = store.memories.files([session.id for session in all_sessions])
        limit = None if request.everything else SCAN_LIMIT
        newest = newest_eligible(all_sessions, files, limit)
        if request.per_root is not None:
            newest = _newest_of_each(newest, request.per_root, projects)
        sessions = due_sessions(
            newest, store.memories.sessions_read(), request.current, request.limit
        )
    files = store.memories.files([session.id for session in sessions])
    damaged = [path for path, _, _ in store.quarantined()]
    return [_candidate(session, projects, files[session.id], damaged) for session in sessions]


def _newest_of_each(
    sessions: Sequence[Session], count: int, projects: dict[int, Project]
) -> list[Session]:
    counts = Counter[str | None]()
    newest: list[Session] = []
    for session in sessions:
        root = root_of(session, projects)
        counts[root] += 1
        if counts[root] <= count:
            newest.append(session)
    return newest


def _of_root(
    sessions: list[Session], root: str | None, projects: dict[int, Project]
) -> list[Session]:
    if root is None:
        return sessions
    root = normalised(root)
    return [session for session in sessions if root_of(session, projects) == root]


def _candidate(
    session: Session, projects: dict[int, Project], files: list[str], damaged: Collection[str]
) -> Candidate:
    return Candidate(
        session,
        root_of(session, projects) or "",
        files[-1] if files else f"{session.flavor}:{session.external_id}",
        project_roots(session, projects),
        sum(path in files for path in damaged),
    )


def why_not(session: Session, files: Sequence[str] = ()) -> str | None:
    """Why a session is not read into memory by itself, or None."""
    if _IN_MEMORY_FOLDER.search(f"{session.cwd or ''}/"):
        return "a session of our own, at work on a memory"
    if session.parent_external_id is not None or session.source_kind == "subagent":
        return "a sub-agent's session: its parent tells of it"
    if session.source_kind == "internal":
        return "a session of a program, not of a person"
    if session.source_kind == "exec":
        return "a run without a person; extract it by hand if it matters"
    if files and all(ARCHIVED in file.replace("\\", "/").split("/") for file in files):
        return "archived"
    return None


def updated_at(session: Session) -> int:
    """When a session last grew; 0 if it has no time."""
    return session.ended_at or session.started_at or 0


def newest_eligible(
    sessions: Sequence[Session],
    files: Mapping[int, Sequence[str]],
    limit: int | None = SCAN_LIMIT,
) -> list[Session]:
    """The newest sessions that may be read into memory; None as limit means all."""
    eligible = [
        session for session in sessions if why_not(session, files.get(session.id, ())) is None
    ]
    # The sort is stable: sessions of equal age keep their order.
    return sorted(eligible, key=updated_at, reverse=True)[:limit]


def due_sessions(
    sessions: Sequence[Session],
    read_at: Mapping[int, int],
    current: Collection[str],
    limit: int,
) -> list[Session]:
    """Sessions in the given order that are not running, and were not read or have grown since.

    `read_at` has the age of each session when it was read. `current` names running sessions, as
    `flavor:id`.
    """
    due: list[Session] = []
    for session in sessions:
        if len(due) >= limit:
            break
        if f"{session.flavor}:{session.external_id}" in current:
            continue
        read = read_at.get(session.id)
        if read is None or read < updated_at(session):
            due.append(session)
    return due
