"""What the verbs of `session-memory journal` share: which journal, with which store and model."""

from __future__ import annotations

import os
import secrets
from collections.abc import Generator
from contextlib import contextmanager

import click

from session_memory.cli.app import App
from session_memory.cli.store import reading
from session_memory.core.project.disk_tree import DiskTree
from session_memory.core.project.repository import resolve_repo
from session_memory.core.schema import Session
from session_memory.errors import NotFound, Refused, StoreMissing
from session_memory.file_names import name_to_text
from session_memory.journal import daily
from session_memory.journal.entry_writer import Desk, project_root
from session_memory.journal.files import read_text
from session_memory.journal.flush import guard
from session_memory.journal.paths import Place, place_of
from session_memory.journal.redaction import cleaner, make_redactor
from session_memory.store import store_exists
from session_memory.store.port import SessionQuery, Store

project_option = click.option(
    "--project", metavar="KEY", help="Of this project; else of the one you are in."
)


@contextmanager
def desk_of(app: App) -> Generator[tuple[Desk, Store]]:
    """The desk of the store there is; raises StoreMissing where there is none."""
    if not app.config.journal.enabled:
        raise Refused("the journal is turned off", hint="set journal.enabled = true")
    guard()
    from session_memory.model.open import open_model  # after the guard: it can start agents

    with reading(app) as store:
        run = f"journal-{secrets.token_hex(4)}"
        model = open_model(app.config.model, app.environ, store.spend, app.clock, run)
        clean = cleaner(make_redactor(store.tag_key, app.config.redact))
        yield Desk(app.paths.data, app.config, app.clock, store, model, clean), store


@contextmanager
def desk_anyway(app: App) -> Generator[Desk]:
    """The same for what needs no store: without one there is no ledger, and so no model."""
    if store_exists(app.paths.data):
        with desk_of(app) as (desk, _store):
            yield desk
        return
    clean = cleaner(make_redactor(secrets.token_bytes(32), app.config.redact))
    yield Desk(app.paths.data, app.config, app.clock, None, None, clean)


def here(app: App) -> str:
    """The root of the repository we are in, or the directory itself."""
    directory = name_to_text(os.path.realpath(os.getcwd()))
    return resolve_repo(directory, DiskTree(), app.environ.get("HOME")) or directory


def place_here(app: App, project: str | None) -> Place:
    """The journal of a project by its key, or of the directory we are in."""
    root = here(app)
    try:
        with reading(app) as store:
            known = store.projects()
    except StoreMissing:
        known = []
    if project is not None:
        found = next((one for one in known if one.key == project), None)
        if found is None:
            raise NotFound(f"no project `{project}`", hint="see `session-memory sessions`")
    else:
        found = next((one for one in known if root in (one.root, *one.aliases)), None)
    return place_of(
        app.paths.data, (found.root if found else None) or root, app.config.journal.vault
    )


def latest(app: App, store: Store) -> Session:
    """The latest session of the directory we are in."""
    root = here(app)
    project = next((one for one in store.projects() if root in (one.root, *one.aliases)), None)
    if project is not None:
        query = SessionQuery(project=project.key, include_subagents=False, limit=1)
        for session in store.sessions(query):
            return session
    raise NotFound("no session of this directory", hint="name one: session-memory journal flush ID")


def sessions_to_flush(desk: Desk, store: Store) -> list[Session]:
    """Sessions of people that no journal has an entry of, oldest first."""
    query = SessionQuery(include_subagents=False)
    spoken = [one for one in store.sessions(query) if one.source_kind in ("interactive", "exec")]
    written: dict[Place, set[str]] = {}
    found: list[Session] = []
    for session in sorted(spoken, key=lambda one: (one.ended_at or 0, one.id)):
        place = desk.place(project_root(store, session))
        if place not in written:
            written[place] = {
                name
                for path in daily.days(place)
                for name in daily.sessions_in(read_text(path) or "")
            }
        if session.external_id not in written[place]:
            found.append(session)
    return found
