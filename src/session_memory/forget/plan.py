"""Forgetting in the store: what a request matches, what goes with it, and deleting it."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Iterable

import msgspec
from msgspec.structs import replace

from session_memory.core.forget import FORGOTTEN, ForgottenSessions
from session_memory.core.schema import Project, Session
from session_memory.distil.sessions import analyze
from session_memory.file_names import name_to_text, text_to_name
from session_memory.store.port import ForgetStore, SessionQuery, SessionReader, Store, TextHit


class ForgetRequest(msgspec.Struct, frozen=True):
    """What to forget: whatever meets all given conditions."""

    sessions: tuple[str, ...] = ()
    project: str | None = None
    since: int | None = None
    until: int | None = None
    text: str | None = None
    ignore_case: bool = False


class ForgetPlan(msgspec.Struct, frozen=True):
    """What would be forgotten: whole sessions, or single events that hold a text."""

    sessions: dict[int, str]
    """Our id to native id, sub-agents included."""
    hits: tuple[TextHit, ...] = ()
    events: int = 0

    @property
    def is_empty(self) -> bool:
        """Whether nothing matched."""
        return not self.sessions and not self.hits


def plan_forget(store: ForgetStore, request: ForgetRequest) -> ForgetPlan:
    """Find what matches: with a text the events that contain it, without one whole sessions."""
    sessions = _sessions(store, request)
    if request.text is None:
        chosen = {s.id for s in sessions}
        if request == ForgetRequest(project=request.project):
            chosen |= _titles_of_folders(store, chosen)
        whole = store.with_subagents(chosen) if chosen else set[int]()
        names = {session_id: store.session(session_id) for session_id in sorted(whole)}
        return ForgetPlan(
            {session_id: session.external_id for session_id, session in names.items()},
            events=sum(session.event_count for session in names.values()),
        )
    inside = {session.id for session in sessions}
    hits = tuple(
        hit
        for hit in store.find_text(request.text, ignore_case=request.ignore_case)
        if hit.session_id in inside
    )
    return ForgetPlan({}, hits, sum(len(hit.fingerprints) for hit in hits))


def _sessions(store: SessionReader, request: ForgetRequest) -> list[Session]:
    sessions = store.sessions(
        SessionQuery(
            project=request.project, since=request.since, until=request.until, include_empty=True
        )
    )
    if request.sessions:
        chosen = {store.find_session(reference).id for reference in request.sessions}
        sessions = [session for session in sessions if session.id in chosen]
    return sessions


def _titles_of_folders(store: ForgetStore, chosen: set[int]) -> set[int]:
    """Sessions without events or directory whose logs lie in a folder of the chosen sessions.

    Some agents keep the logs of a project in a folder of its own. A folder that also has logs of
    another project does not count.
    """
    everything = store.sessions(SessionQuery(include_empty=True))
    titles = {s.id for s in everything if s.cwd is None and not s.event_count}
    others = {s.id for s in everything} - titles - chosen
    folders = _folders(store, chosen) - _folders(store, others)
    return {title for title in titles if (own := _folders(store, {title})) and own <= folders}


def _folders(store: ForgetStore, sessions: set[int]) -> set[str]:
    return {os.path.dirname(path) for path in store.log_paths(sessions)}


def apply_forget(
    store: Store, plan: ForgetPlan, request: ForgetRequest, then: Callable[[], None] = lambda: None
) -> None:
    """Carry out a plan in the store, distil again what lost events, and erase traces on disk.

    `then` deletes whatever else has to go, before the traces are erased.
    """
    if plan.sessions:
        store.forget_sessions(set(plan.sessions))
    for hit in plan.hits:
        if hit.fingerprints:
            store.forget_events(hit.session_id, hit.fingerprints)
    if plan.hits and request.text is not None:
        words = _words_without(request.text, ignore_case=request.ignore_case)
        store.forget_facts(words)
        store.replace_words(words)
    with store.writing() as writer:
        analyze(store, writer)
    then()
    store.erase_traces()


def _words_without(text: str, *, ignore_case: bool) -> Callable[[bytes], bytes]:
    """Takes a text out of a JSON document; the same object where it does not occur."""
    escaped = msgspec.json.encode(text).decode()[1:-1]
    pattern = re.compile(re.escape(escaped), re.IGNORECASE if ignore_case else 0)

    def without(data: bytes) -> bytes:
        changed, count = pattern.subn(FORGOTTEN, data.decode("utf-8", "surrogateescape"))
        return changed.encode("utf-8", "surrogateescape") if count else data

    return without


def forgotten_with(store: Store, sessions: set[int]) -> ForgottenSessions:
    """What goes with sessions that are about to be forgotten; call it while they still exist."""
    everything = store.sessions(SessionQuery(include_empty=True))
    leaving = [session for session in everything if session.id in sessions]
    touched = {session.project_id for session in leaving}
    projects = store.found_projects()
    empty = store.projects_only_in(sessions)
    emptied = [project for project in projects if project.id in empty]
    others = [project for project in projects if project not in emptied]
    pack_files = (
        sync.path
        for project in projects
        if project.id in touched
        for sync in store.syncs.all(project.id)
    )
    return replace(
        forgotten_by_name(store, {(s.flavor, s.external_id) for s in leaving}),
        project_keys=frozenset(project.key for project in emptied),
        roots=_directories(emptied),
        other_roots=_directories(others),
        pack_files=tuple(dict.fromkeys(pack_files)),
        logs=tuple(store.log_paths(sessions)),
    )


def forgotten_by_name(store: Store, sessions: Collection[tuple[str, str]]) -> ForgottenSessions:
    """The same where only the flavour and id of the sessions are left."""
    everything = store.sessions(SessionQuery(include_empty=True))
    remaining = {(s.flavor, s.external_id) for s in everything} - set(sessions)
    return ForgottenSessions(
        sessions=frozenset(sessions),
        remaining=frozenset(f"{flavor}:{name}" for flavor, name in remaining),
        patterns_of_others=frozenset(
            signal.pattern
            for mined in store.patterns.evidence()
            if (mined.flavor, mined.external_id) not in sessions
            for signal in mined.signals
        ),
    )


def _directories(projects: Iterable[Project]) -> frozenset[str]:
    """The directories of projects, as sessions named them and as the file system does."""
    named = {path for project in projects for path in (project.root, *project.aliases) if path}
    real = {
        name_to_text(os.path.realpath(text_to_name(path))) for path in named if os.path.isabs(path)
    }
    return frozenset(named | real)
