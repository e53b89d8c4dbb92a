"""Which sessions a question is about; a wrong pair of project and session is always an error."""

from __future__ import annotations

import difflib

import msgspec

from session_memory.core.project.path_shape import within
from session_memory.core.schema import Project
from session_memory.core.text.safe_text import one_line
from session_memory.errors import NotFound, ScopeMismatch, UsageError
from session_memory.store.port import Store
from session_memory.store.scopes import SessionLine

_GIVEN = frozenset(("explicit", "payload"))
_PROGRAMS = frozenset(("internal_title_generation_prompt", "internal session of the agent"))


class Scope(msgspec.Struct, frozen=True):
    """A project, perhaps one session of it, and the sessions that speak for it."""

    project: Project
    session: SessionLine | None
    lines: tuple[SessionLine, ...]
    """Sessions whose words count, latest first: the one asked for, or the project's own."""
    captured: tuple[SessionLine, ...]
    """Those and the sessions in which only a program spoke: they are captured, and say nothing."""

    @property
    def ids(self) -> list[int]:
        """Of the sessions whose words count."""
        return [line.id for line in self.lines]

    @property
    def broad(self) -> bool:
        """Whether several threads of work are in it, so that none may be taken for the active."""
        return self.session is None and len(self.lines) > 1


def open_scope(store: Store, project_key: str | None, session_id: int | None = None) -> Scope:
    """The scope a caller names. Project and session are checked against each other (SCP-11)."""
    if session_id is not None:
        return _one_session(store, project_key, session_id)
    project = find_project(store.projects(), project_key)
    return project_scope(project, store.scopes.lines(project.id))


def project_scope(project: Project, lines: list[SessionLine]) -> Scope:
    """A whole project: without sub-agents, and without what was captured elsewhere (IDN-12)."""
    captured = [line for line in lines if not line.parent and not is_outside(project, line)]
    return Scope(
        project=project,
        session=None,
        lines=tuple(line for line in captured if not is_program(line)),
        captured=tuple(captured),
    )


def find_project(projects: list[Project], key: str | None) -> Project:
    """The project of a key; near names help who mistyped it."""
    for project in projects:
        if project.key == key:
            return project
    near = difflib.get_close_matches(key or "", [one.key for one in projects], n=3, cutoff=0.5)
    names = f"did you mean {', '.join(near)}?" if near else "`session-memory usage` lists projects"
    raise NotFound("Project not found", hint=names)


def check_agent(store: Store, name: str | None) -> None:
    """Raise for an agent that nobody knows; one that has no sessions yet is none of those."""
    if name is None or store.span(name)[0]:
        return
    from session_memory.adapters.registry import agents

    if name not in (known := agents()):
        raise UsageError(f"unknown agent {one_line(name)!r}", hint=f"one of {', '.join(known)}")


def is_outside(project: Project, line: SessionLine) -> bool:
    """Whether a session ran elsewhere and only bears the project's name (IDN-12).

    A directory that was walked up from leads to the root itself or to a worktree of it; only a
    name that somebody gave can put a session into a project it did not run in.
    """
    if project.root is None or line.cwd is None or line.resolved_by not in _GIVEN:
        return False
    places = (project.root, project.worktree_of)
    return not any(place is not None and within(line.cwd, place) for place in places)


def is_program(line: SessionLine) -> bool:
    """Whether no person asked for anything in it (SES-03)."""
    return line.source_kind == "internal" or line.low_value in _PROGRAMS


def _one_session(store: Store, project_key: str | None, session_id: int) -> Scope:
    line = store.scopes.line(session_id)
    projects = store.projects()
    if project_key is not None:
        project = find_project(projects, project_key)
        if line is None or line.project_id != project.id:
            # The same words for a session of another project and for none at all.
            raise ScopeMismatch(
                f"Session not found for project: session {session_id} is not in {project.key!r}",
                hint="mem_session_list names the sessions of a project",
            )
    elif line is None:
        raise NotFound("Session not found", hint="mem_session_list names the sessions of a project")
    else:
        project = next((one for one in projects if one.id == line.project_id), None)
        if project is None:
            raise NotFound("Project not found", hint="this session is in no project yet")
    return Scope(project=project, session=line, lines=(line,), captured=(line,))
