"""The sessions that a project's memory rests on, with what their digests say."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec

from session_memory.clock import iso
from session_memory.core.event_ids import event_id
from session_memory.core.schema import Digest, Project, Session
from session_memory.store.memories import Trace
from session_memory.store.port import SessionReader

MAX_SESSIONS = 200
"""How many of a project's newest sessions are consolidated without a model."""


class KnownSession(msgspec.Struct, frozen=True):
    """A session that left a trace."""

    id: int
    thread: str
    at: int
    digest: Digest
    roots: tuple[str, ...] = ()
    """Directories of the project: paths are shown from there."""
    branch: str | None = None

    @property
    def day(self) -> str:
        """When it ended, as a date."""
        return (iso(self.at) or "-")[:10]

    def event(self, seq: int) -> int:
        """The id of an event that the digest names."""
        return event_id(self.id, seq)


def known_sessions(store: SessionReader, traces: Iterable[Trace]) -> list[KnownSession]:
    """The sessions behind traces, in their order, without those that were never distilled."""
    projects = {project.id: project for project in store.projects()}
    sessions: list[KnownSession] = []
    for trace in traces:
        digest = store.digest(trace.session_id)
        if digest is not None:
            session = store.session(trace.session_id)
            roots = project_roots(session, projects)
            sessions.append(
                KnownSession(
                    session.id, trace.thread_id, trace.updated_at, digest, roots, session.branch
                )
            )
    return sessions


def project_roots(session: Session, projects: Mapping[int, Project]) -> tuple[str, ...]:
    """Where a session ran, and the directories of its project."""
    project = projects.get(session.project_id) if session.project_id is not None else None
    named = (session.cwd, project.root if project else None, *(project.aliases if project else ()))
    return tuple(dict.fromkeys(root for root in named if root))
