"""Forgetting on request: what would go, doing it, and proving that it is gone."""

from __future__ import annotations

import os
from collections.abc import Callable

import msgspec

from session_memory.core.forget import FORGOTTEN
from session_memory.distil.sessions import analyze
from session_memory.store.port import SessionQuery, Store, TextHit


class Wanted(msgspec.Struct, frozen=True):
    """What the user asked to forget; several conditions narrow each other."""

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


def plan_forget(store: Store, wanted: Wanted) -> ForgetPlan:
    """Find what matches. A text narrows to the events that hold it; the rest names sessions."""
    sessions = _sessions(store, wanted)
    if wanted.text is None:
        chosen = {s.id for s in sessions}
        if wanted == Wanted(project=wanted.project):
            chosen |= _titles_beside(store, chosen)
        whole = store.with_subagents(chosen) if chosen else set[int]()
        names = {session_id: store.session(session_id) for session_id in sorted(whole)}
        return ForgetPlan(
            {session_id: session.external_id for session_id, session in names.items()},
            events=sum(session.event_count for session in names.values()),
        )
    inside = {session.id for session in sessions}
    hits = tuple(
        hit
        for hit in store.find_text(wanted.text, ignore_case=wanted.ignore_case)
        if hit.session_id in inside
    )
    return ForgetPlan({}, hits, sum(len(hit.fingerprints) for hit in hits))


def _sessions(store: Store, wanted: Wanted) -> list[_Named]:
    found = store.sessions(
        SessionQuery(
            project=wanted.project, since=wanted.since, until=wanted.until, include_empty=True
        )
    )
    named = [_Named(session.id, session.external_id) for session in found]
    if wanted.sessions:
        chosen = {store.find_session(reference).id for reference in wanted.sessions}
        named = [session for session in named if session.id in chosen]
    return named


def _titles_beside(store: Store, chosen: set[int]) -> set[int]:
    """Sessions of which only a title is known, and no directory, beside logs of chosen ones.

    Some agents keep the logs of a project in a folder of its own. Where logs of another project lie
    in the same folder, it says nothing.
    """
    everything = store.sessions(SessionQuery(include_empty=True))
    titles = {one.id for one in everything if one.cwd is None and not one.event_count}
    others = {one.id for one in everything} - titles - chosen
    folders = _folders(store, chosen) - _folders(store, others)
    return {one for one in titles if (place := _folders(store, {one})) and place <= folders}


def _folders(store: Store, sessions: set[int]) -> set[str]:
    return {os.path.dirname(path) for path in store.log_paths(sessions)}


class _Named(msgspec.Struct, frozen=True):
    id: int
    external_id: str


def apply_forget(
    store: Store, plan: ForgetPlan, wanted: Wanted, then: Callable[[], None] = lambda: None
) -> None:
    """Carry a plan out, distil again what lost events, and erase every trace on disk.

    `then` is for what else has to go from the store, before the traces are erased.
    """
    if plan.sessions:
        store.forget_sessions(set(plan.sessions))
    for hit in plan.hits:
        if hit.fingerprints:
            store.forget_events(hit.session_id, hit.fingerprints)
    if plan.hits and wanted.text is not None:
        needle = wanted.text
        escaped = msgspec.json.encode(needle)[1:-1]
        store.forget_facts(lambda data: _without(data, escaped))
        store.replace_words(lambda data: _without(data, escaped))
    with store.writing() as writer:
        analyze(store, writer)
    then()
    store.erase_traces()


def _without(data: bytes, escaped: bytes) -> bytes:
    return data.replace(escaped, FORGOTTEN.encode()) if escaped in data else data
