"""`session-memory journal`: the daily log of a project, and what waits to get into it."""

from __future__ import annotations

import os
import re
import secrets
from collections.abc import Generator
from contextlib import contextmanager

import click
import msgspec

from session_memory.cli.app import App, json_option, pass_app
from session_memory.cli.output import emit_json, one_line, safe
from session_memory.cli.stores import reading
from session_memory.core.disk_tree import DiskTree
from session_memory.core.repository import resolve_repo
from session_memory.core.schema import Session
from session_memory.errors import EXIT_OK, EXIT_WARNINGS, NotFound, Refused, StoreMissing
from session_memory.journal import daily
from session_memory.journal.cleaning import cleaner, make_redactor
from session_memory.journal.context import make_context, turns_of_session
from session_memory.journal.duty import flush_session
from session_memory.journal.files import read_text
from session_memory.journal.flush import Outcome, guard, retry_failed
from session_memory.journal.knowing import Desk, around
from session_memory.journal.pending import counts, read_waiting
from session_memory.journal.place import Place, all_places, place_of
from session_memory.store.port import SessionQuery, Store

OUTCOMES: dict[Outcome | None, str] = {
    "saved": "written into today's log",
    "nothing": "nothing worth saving; noted in today's log",
    "duplicate": "the same was flushed less than a minute ago",
    "failed": "no entry could be made; the session is kept for later (see retry-failed)",
    "empty": "nothing was said",
    "missing": "its context has gone",
    None: "nothing was said",
}


@click.group(name="journal")
def command() -> None:
    """The daily log of each project: what sessions did, decided, learned and left open.

    \b
    Examples:
      session-memory journal today
      session-memory journal show 2026-03-02 --project shop
      session-memory journal flush
      session-memory journal retry-failed
    """


project_option = click.option(
    "--project", metavar="KEY", help="Of this project; else of the one you are in."
)


@command.command()
@project_option
@json_option
@pass_app
def today(app: App, project: str | None) -> None:
    """Print today's log."""
    _show(app, project, daily.local_date(app.clock()))


@command.command()
@click.argument("date")
@project_option
@json_option
@pass_app
def show(app: App, date: str, project: str | None) -> None:
    """Print the log of a day, written as 2026-03-02."""
    if not re.fullmatch(r"\d{4}-\d{2}-\d{2}", date):
        raise click.BadParameter(f"`{date}` is not a date such as 2026-03-02")
    _show(app, project, date)


def _show(app: App, project: str | None, date: str) -> None:
    place = _place(app, project)
    text = read_text(place.day(date))
    if text is None:
        known = ", ".join(path.stem for path in daily.days(place)[:5])
        hint = f"latest days: {known}" if known else "`session-memory journal flush` writes one"
        raise NotFound(f"no log of {date}", hint=hint)
    if app.json:
        entries = [msgspec.to_builtins(entry) for entry in daily.entries(text)]
        emit_json({"date": date, "path": str(place.day(date)), "entries": entries, "text": text})
    else:
        click.echo(safe(text.encode("utf-8", "replace").decode()), nl=False)


@command.command()
@click.argument("session", required=False)
@click.option("--dry-run", is_flag=True, help="Show what would be read; write nothing.")
@json_option
@pass_app
def flush(app: App, session: str | None, dry_run: bool) -> int:
    """Write the end of a session into today's log: of SESSION, or of the latest one here."""
    with _desk(app) as (desk, store):
        found = store.find_session(session) if session else _latest(app, store)
        if dry_run:
            text = make_context(turns_of_session(store, found.id), desk.clean)
            if app.json:
                emit_json({"session": found.external_id, "dry_run": True, "context": text})
            else:
                click.echo(safe(text))
            return EXIT_OK
        outcome = flush_session(desk, found, "end", found.ended_at or 0)
    if app.json:
        emit_json({"session": found.external_id, "outcome": outcome or "empty"})
    else:
        click.echo(f"{one_line(found.external_id)}: {OUTCOMES[outcome]}")
    return EXIT_WARNINGS if outcome == "failed" else EXIT_OK


@command.command("retry-failed")
@click.option("--all", "permanent", is_flag=True, help="Also those that were given up.")
@click.option("--dry-run", is_flag=True, help="Show what waits; try nothing.")
@json_option
@pass_app
def retry(app: App, permanent: bool, dry_run: bool) -> int:
    """Try sessions again that could not be written down. Exit 3 when some still wait."""
    vault = app.config.journal.vault
    outcomes: dict[str, Outcome] = {}
    if not dry_run:
        with _desk(app) as (desk, _store):
            for place in all_places(app.paths.data, vault):
                # Which project a journal is of is not known from here, so nothing is compiled.
                outcomes |= retry_failed(around(desk, place, None), permanent=permanent)
    left = [
        waiting
        for place in all_places(app.paths.data, vault)
        for waiting in read_waiting(place, app.clock(), app.warn)
    ]
    count = counts(left)
    if app.json:
        emit_json({"dry_run": dry_run, "outcomes": outcomes, **msgspec.to_builtins(count)})
    else:
        for path, outcome in outcomes.items():
            click.echo(f"{one_line(os.path.basename(path))}: {OUTCOMES[outcome]}")
        click.echo(f"{count.pending} waiting, {count.permanent} given up")
    return EXIT_WARNINGS if left else EXIT_OK


@contextmanager
def _desk(app: App) -> Generator[tuple[Desk, Store]]:
    if not app.config.journal.enabled:
        raise Refused("the journal is turned off", hint="set journal.enabled = true")
    guard()
    from session_memory.model.open import open_model  # after the guard: it can start agents

    with reading(app) as store:
        run = f"journal-{secrets.token_hex(4)}"
        model = open_model(app.config.model, app.environ, store.spend, app.clock, run)
        clean = cleaner(make_redactor(store.tag_key, app.config.redact))
        yield Desk(app.paths.data, app.config, app.clock, store, model, clean), store


def _here(app: App) -> str:
    here = os.path.realpath(os.getcwd())
    return resolve_repo(here, DiskTree(), app.environ.get("HOME")) or here


def _place(app: App, project: str | None) -> Place:
    """The journal of a project by its key, or of the directory we are in."""
    root = _here(app)
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


def _latest(app: App, store: Store) -> Session:
    here = _here(app)
    project = next((one for one in store.projects() if here in (one.root, *one.aliases)), None)
    if project is not None:
        query = SessionQuery(project=project.key, include_subagents=False, limit=1)
        for session in store.sessions(query):
            return session
    raise NotFound("no session of this directory", hint="name one: session-memory journal flush ID")
