"""Memory for every project at once, by rules alone: what `init` ends with."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable

import msgspec

from session_memory.core.text.reason import reason_of
from session_memory.memory.consolidate import consolidate, manual_owner
from session_memory.memory.context import open_context
from session_memory.memory.extract import ALL_SESSIONS, extract
from session_memory.memory.selection import ExtractRequest
from session_memory.store.memories import Claim
from session_memory.store.port import SessionQuery, Store
from session_memory.worker.briefings import Briefings
from session_memory.worker.features import WorkerFeatures

Progress = Callable[[int, int, str], None]
"""(done, of all, what)."""


class Example(msgspec.Struct, frozen=True):
    """What the next session of a project is told."""

    project: str
    root: str
    lines: tuple[str, ...]


class Prepared(msgspec.Struct):
    """What was made."""

    sessions: int = 0
    """Sessions that were read into memory."""
    directories: int = 0
    """Directories whose sessions are told something when they start."""
    failed: dict[str, str] = msgspec.field(default_factory=dict[str, str])
    """Projects and sessions for which that failed, and why; the others are done."""
    example: Example | None = None
    """Of the project last worked in that has something to say, on this machine if one is."""


def prepare(store: Store, features: WorkerFeatures, progress: Progress) -> Prepared:
    """Read the newest sessions of every project, make their memories and pages.

    Where a model is turned on, reading is left to the worker, which asks it; sessions are told what
    rules find until then.
    """
    done = Prepared()
    if features.config.memory.enabled and features.config.model.provider == "none":
        _remember(store, features, progress, done)

    def note(project: str, error: Exception) -> None:
        done.failed[project] = reason_of(error)

    done.directories = features.refresh(store, features.clock(), note)
    if features.config.memory.enabled:
        done.example = _example(store, features)
    return done


def _remember(store: Store, features: WorkerFeatures, progress: Progress, done: Prepared) -> None:
    newest = ExtractRequest(
        limit=ALL_SESSIONS, everything=True, per_root=features.config.memory.max_traces
    )
    context = open_context(features.paths, features.config, features.clock, lambda _store: None)
    report = extract(store, context, newest)
    done.sessions = len(report.written)
    done.failed |= {drop.session: drop.reason for drop in report.dropped if not drop.final}
    owner, roots = manual_owner(secrets.token_hex(6)), sorted(report.touched)
    for number, root in enumerate(roots):
        progress(number, len(roots), root)
        for result in consolidate(store, context, [Claim(root, owner)]):
            if result.reason:
                done.failed[root] = result.reason


def _example(store: Store, features: WorkerFeatures) -> Example | None:
    briefings = Briefings(store, features.paths, features.config, features.clock())
    projects = {project.id: project for project in store.projects() if project.root}
    tried_projects: set[int] = set()
    elsewhere: Example | None = None
    for session in store.sessions(SessionQuery(include_subagents=False)):
        project = projects.get(session.project_id or 0)
        if project is None or project.id in tried_projects:
            continue
        tried_projects.add(project.id)
        if lines := briefings.lines(project):
            example = Example(project.key, project.root or "", lines)
            if os.path.isdir(example.root):
                return example
            elsewhere = elsewhere or example
    return elsewhere
