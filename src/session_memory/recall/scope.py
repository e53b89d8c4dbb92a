"""Which sessions a question is about; a session outside the named project is always an error."""

from __future__ import annotations

import difflib

import msgspec

from session_memory.core.project.former_keys import key_hint
from session_memory.core.project.path_shape import within
from session_memory.core.schema import Project
from session_memory.core.text.safe_text import one_line
from session_memory.errors import NotFound, ScopeMismatch, UsageError
from session_memory.store.port import RecallStore, SessionReader
from session_memory.store.scopes import SessionLine

_GIVEN = frozenset(("explicit", "payload"))
_PROGRAMS = frozenset(("internal_title_generation_prompt", "internal session of the agent"))


class Scope(msgspec.Struct, frozen=True):
    """A project, perhaps one session of it, and the sessions an answer is made from."""

    project: Project
    session: SessionLine | None
    lines: tuple[SessionLine, ...]
    """Sessions whose content counts, latest first: the requested one, or those of the project."""
    captured: tuple[SessionLine, ...]
    """Those, and the sessions in which only a program spoke: stored, but not used in answers."""

    @property
    def ids(self) -> list[int]:
        """Ids of the sessions whose content counts."""
        return [line.id for line in self.lines]

    @property
    def broad(self) -> bool:
        """Whether it holds several threads, so that none may be taken for the active one."""
        return self.session is None and len(self.lines) > 1


def open_scope(store: RecallStore, project_key: str | None, session_id: int | None = None) -> Scope:
    """The scope a caller names; the session must belong to the project (SCP-11)."""
    if session_id is not None:
        return _session_scope(store, project_key, session_id)
    project = known_project(store, project_key)
    return project_scope(project, store.scopes.lines(project.id))


def project_scope(project: Project, lines: list[SessionLine]) -> Scope:
    """A whole project, without sub-agents and sessions captured elsewhere (IDN-12)."""
    captured = [line for line in lines if not line.parent and not is_outside(project, line)]
    return Scope(
        project=project,
        session=None,
        lines=tuple(line for line in captured if not is_program(line)),
        captured=tuple(captured),
    )


def known_project(store: RecallStore, key: str | None) -> Project:
    """The project with this key; only an unknown one makes it read all of them, to suggest some."""
    project = store.scopes.project(key) if key else None
    return project or find_project(store.projects(), key)


def find_project(projects: list[Project], key: str | None) -> Project:
    """The project with this key; the error suggests similar keys."""
    for project in projects:
        if project.key == key:
            return project
    keys = [project.key for project in projects]
    similar = difflib.get_close_matches(key or "", keys, n=3, cutoff=0.5)
    listing = "`session-memory project list` names them"
    hint = f"did you mean {', '.join(similar)}?" if similar else listing
    raise NotFound("Project not found", hint=key_hint(projects, key, hint))


def check_agent(store: SessionReader, name: str | None) -> None:
    """Raise for an unknown agent; a known one without sessions is fine."""
    if name is None or store.span(name)[0]:
        return
    from session_memory.adapters.registry import agents

    names = agents()
    if name not in names:
        raise UsageError(f"unknown agent {one_line(name)!r}", hint=f"one of {', '.join(names)}")


def is_of_project(store: RecallStore, line: SessionLine, key: str | None) -> bool:
    """Whether a session is in the project with this key; no key means any project."""
    return key is None or known_project(store, key).id == line.project_id


def project_of(store: RecallStore, line: SessionLine) -> Project | None:
    """The project of a session."""
    key = line.project_id
    return None if key is None else store.scopes.some_projects([key]).get(key)


def is_outside(project: Project, line: SessionLine) -> bool:
    """Whether a session ran elsewhere and was only named as part of the project (IDN-12).

    A project found by walking up from the session's directory contains that directory. Only a
    name given by a user or a hook can put a session into a project it did not run in.
    """
    if project.root is None or line.cwd is None or line.resolved_by not in _GIVEN:
        return False
    roots = (project.root, project.worktree_of)
    return not any(root is not None and within(line.cwd, root) for root in roots)


def is_program(line: SessionLine) -> bool:
    """Whether only a program spoke in the session, no person (SES-03)."""
    return line.source_kind == "internal" or line.low_value in _PROGRAMS


def _session_scope(store: RecallStore, project_key: str | None, session_id: int) -> Scope:
    line = store.scopes.line(session_id)
    if project_key is not None:
        project = known_project(store, project_key)
        if line is None or line.project_id != project.id:
            # The same message whether the session is in another project or does not exist.
            raise ScopeMismatch(
                f"Session not found for project: session {session_id} is not in {project.key!r}",
                hint="mem_session_list names the sessions of a project",
            )
    elif line is None:
        raise NotFound("Session not found", hint="mem_session_list names the sessions of a project")
    else:
        project = project_of(store, line)
        if project is None:
            raise NotFound("Project not found", hint="this session is in no project yet")
    return Scope(project=project, session=line, lines=(line,), captured=(line,))
