"""What the verbs of `project journal` share: which journal, with which store and model."""

from __future__ import annotations

import secrets
from collections.abc import Generator
from contextlib import contextmanager

from session_memory.cli.app import App
from session_memory.cli.options import option
from session_memory.cli.store import reading
from session_memory.core.project.directory import current_root, project_at
from session_memory.core.project.former_keys import key_hint
from session_memory.core.schema import Session
from session_memory.errors import NotFound, Refused, StoreMissing
from session_memory.journal import daily
from session_memory.journal.context import JournalContext, open_context, project_root
from session_memory.journal.files import read_text
from session_memory.journal.flush import guard
from session_memory.journal.jobs import has_conversation
from session_memory.journal.paths import JournalPaths, journal_paths
from session_memory.model.port import Model
from session_memory.store import store_exists
from session_memory.store.port import SessionQuery, SessionReader, Store

project_option = option(
    "--project", metavar="KEY", help="This project; default: the one of the current directory."
)


@contextmanager
def store_context(app: App) -> Generator[tuple[JournalContext, Store]]:
    """The context with the store; raises StoreMissing if there is none."""
    if not app.config.journal.enabled:
        raise Refused("the journal is turned off", hint="set journal.enabled = true")
    guard()
    from session_memory.model.open import open_model  # after the guard: it can start agents

    with reading(app) as store:
        run = f"journal-{secrets.token_hex(4)}"
        model = open_model(app.config.model, app.environ, store.spend, app.clock, run)
        yield _open_context(app, store, model), store


@contextmanager
def any_context(app: App) -> Generator[JournalContext]:
    """The same for verbs that need no store; without one there is no ledger, and so no model."""
    if store_exists(app.paths.data):
        with store_context(app) as (context, _store):
            yield context
        return
    yield _open_context(app)


def _open_context(
    app: App, store: Store | None = None, model: Model | None = None
) -> JournalContext:
    context = open_context(app.paths.data, app.config, app.clock, store, model)
    for text in context.warnings:
        app.warn(text)
    return context


def find_journal(app: App, project_key: str | None) -> JournalPaths:
    """The journal of a project by its key, or of the current directory."""
    root = current_root(app.environ.get("HOME"))
    try:
        with reading(app) as store:
            projects = store.projects()
    except StoreMissing:
        projects = []
    if project_key is not None:
        project = next((candidate for candidate in projects if candidate.key == project_key), None)
        if project is None:
            hint = key_hint(projects, project_key, "`session-memory project list` names them")
            raise NotFound(f"no project `{project_key}`", hint=hint)
    else:
        project = project_at(projects, root)
    project_root = (project.root if project else None) or root
    return journal_paths(app.paths.data, project_root, app.config.journal.vault)


def latest_session(app: App, store: SessionReader) -> Session:
    """The latest session of the current directory."""
    project = project_at(store.projects(), current_root(app.environ.get("HOME")))
    if project is not None:
        query = SessionQuery(project=project.key, include_subagents=False, limit=1)
        for session in store.sessions(query):
            return session
    raise NotFound(
        "no session of this directory", hint="name one: session-memory project journal flush ID"
    )


def sessions_to_flush(context: JournalContext, store: SessionReader) -> list[Session]:
    """Sessions of people that have no entry yet, oldest first."""
    query = SessionQuery(include_subagents=False)
    candidates = [session for session in store.sessions(query) if has_conversation(session)]
    with_entry: dict[JournalPaths, set[str]] = {}
    sessions: list[Session] = []
    for session in sorted(candidates, key=lambda session: (session.ended_at or 0, session.id)):
        journal = context.journal(project_root(store, session))
        if journal not in with_entry:
            with_entry[journal] = {
                name
                for path in daily.days(journal)
                for name in daily.sessions_in(read_text(path) or "")
            }
        if session.external_id not in with_entry[journal]:
            sessions.append(session)
    return sessions
