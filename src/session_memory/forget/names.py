"""From sessions of the store to every name by which they are known outside of it."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable

from msgspec.structs import replace

from session_memory.core.forget import Gone
from session_memory.core.schema import Project
from session_memory.file_names import name_to_text, text_to_name
from session_memory.store.port import SessionQuery, Store


def gone_of(store: Store, sessions: set[int]) -> Gone:
    """What goes with sessions that are about to be forgotten; ask while they are still there."""
    everything = store.sessions(SessionQuery(include_empty=True))
    leaving = [one for one in everything if one.id in sessions]
    staying = [one for one in everything if one.id not in sessions]
    touched = {one.project_id for one in leaving}
    left_in = {one.project_id for one in staying}
    projects = store.projects()
    gone = [one for one in projects if one.id in touched and one.id not in left_in]
    others = [one for one in projects if one not in gone]
    return replace(
        gone_by_name(store, {(one.flavor, one.external_id) for one in leaving}),
        keys=frozenset(one.key for one in gone),
        roots=_directories(gone),
        other_roots=_directories(others),
        packs=tuple(
            dict.fromkeys(
                sync.path
                for one in projects
                if one.id in touched
                for sync in store.syncs.all(one.id)
            )
        ),
        logs=tuple(store.log_paths(sessions)),
    )


def gone_by_name(store: Store, sessions: Collection[tuple[str, str]]) -> Gone:
    """The same where only the names of the sessions are left, by flavour and id of their own."""
    everything = store.sessions(SessionQuery(include_empty=True))
    names = {(one.flavor, one.external_id) for one in everything} - set(sessions)
    return Gone(
        sessions=frozenset(sessions),
        staying=frozenset(f"{flavor}:{name}" for flavor, name in names),
        spoken=frozenset(
            signal.pattern
            for mined in store.patterns.evidence()
            if (mined.flavor, mined.external_id) not in sessions
            for signal in mined.signals
        ),
    )


def _directories(projects: Iterable[Project]) -> frozenset[str]:
    """Where projects lie, as sessions named it and as the file system does."""
    named = {path for one in projects for path in (one.root, *one.aliases) if path}
    real = {_real(path) for path in named if os.path.isabs(path)}
    return frozenset(named | real)


def _real(path: str) -> str:
    return name_to_text(os.path.realpath(text_to_name(path)))
