"""`session-memory journal`: the daily log of a project, and what waits to get into it."""

from __future__ import annotations

import os
import re

import click
import msgspec

from session_memory.cli.app import App, json_option, pass_app
from session_memory.cli.journal_context import (
    desk_of,
    latest,
    place_here,
    project_option,
    sessions_to_flush,
)
from session_memory.cli.journal_knowledge import VERBS
from session_memory.cli.output import emit_json, one_line, safe
from session_memory.cli.session_argument import named, names
from session_memory.core.schema import Session
from session_memory.errors import EXIT_OK, EXIT_WARNINGS, NotFound
from session_memory.journal import daily
from session_memory.journal.compile import chosen, compile_logs, told
from session_memory.journal.context import make_context, turns_of_session
from session_memory.journal.entry_writer import Desk, around, tools_of
from session_memory.journal.files import read_text
from session_memory.journal.flush import Outcome, retry_failed
from session_memory.journal.jobs import flush_session
from session_memory.journal.paths import Place, all_places
from session_memory.journal.pending import counts, read_waiting

OUTCOMES: dict[Outcome | None, str] = {
    "saved": "written into the log of its day",
    "nothing": "nothing worth saving; noted in the log of its day",
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
      session-memory journal compile
      session-memory journal query "why do we cache tokens"
      session-memory journal lint --fix
      session-memory journal health
    """


for verb in VERBS:
    command.add_command(verb)


@command.command()
@project_option
@json_option
@pass_app
def today(app: App, project: str | None) -> None:
    """Print today's log.

    \b
    Examples:
      session-memory journal today
      session-memory journal today --project shop
    """
    _show(app, project, daily.local_date(app.clock()))


@command.command()
@click.argument("date")
@project_option
@json_option
@pass_app
def show(app: App, date: str, project: str | None) -> None:
    """Print the log of a day, written as 2026-03-02.

    \b
    Examples:
      session-memory journal show 2026-03-02
      session-memory journal show 2026-03-02 --project shop --json
    """
    if not re.fullmatch(r"\d{4}-\d{2}-\d{2}", date):
        raise click.BadParameter(f"`{date}` is not a date such as 2026-03-02")
    _show(app, project, date)


def _show(app: App, project: str | None, date: str) -> None:
    place = place_here(app, project)
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
@click.option("--all", "everything", is_flag=True, help="Every session that has no entry yet.")
@click.option("--dry-run", is_flag=True, help="Show what would be read; write nothing.")
@json_option
@pass_app
def flush(app: App, session: str | None, everything: bool, dry_run: bool) -> int:
    """Write the end of a session into the log of the day it ended: of SESSION, or of the latest
    one here.

    \b
    Examples:
      session-memory journal flush 42
      session-memory journal flush --all --dry-run
    """
    with desk_of(app) as (desk, store):
        if everything:
            found = sessions_to_flush(desk, store)
        else:
            found = [latest(app, store) if session is None else store.find_session(session)]
        if dry_run:
            _show_contexts(app, desk, found)
            return EXIT_OK
        done: list[tuple[Session, Outcome | None]] = [
            (one, flush_session(desk, one, "end", one.ended_at or 0)) for one in found
        ]
    rows = [{**names(one), "outcome": outcome or "empty"} for one, outcome in done]
    if app.json:
        emit_json({"sessions": rows} if everything else rows[0])
    else:
        for one, outcome in done:
            click.echo(f"{named(one)}: {OUTCOMES[outcome]}")
    return EXIT_WARNINGS if any(outcome == "failed" for _, outcome in done) else EXIT_OK


def _show_contexts(app: App, desk: Desk, found: list[Session]) -> None:
    assert desk.store is not None  # `desk_of` opened it
    for one in found:
        text = make_context(turns_of_session(desk.store, one.id), desk.clean)
        if app.json:
            emit_json({**names(one), "dry_run": True, "context": text})
        else:
            click.echo(safe(text))


@command.command("retry-failed")
@click.option("--all", "permanent", is_flag=True, help="Also those that were given up.")
@click.option("--dry-run", is_flag=True, help="Show what waits; try nothing.")
@json_option
@pass_app
def retry(app: App, permanent: bool, dry_run: bool) -> int:
    """Try sessions again that could not be written down. Exit 3 when some still wait.

    \b
    Examples:
      session-memory journal retry-failed --dry-run
      session-memory journal retry-failed
    """
    vault = app.config.journal.vault
    outcomes: dict[str, Outcome] = {}
    lines: list[str] = []
    if not dry_run:
        with desk_of(app) as (desk, _store):
            for place in all_places(app.paths.data, vault):
                due: list[tuple[str, ...]] = []
                wishes = around(desk, place, due.append)
                outcomes |= retry_failed(wishes, permanent=permanent)
                # Only now: a compile takes long, and nobody could flush meanwhile.
                lines += _compiled(app, desk, place) if due else []
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
        for line in lines:
            click.echo(safe(line))
        click.echo(f"{count.pending} waiting, {count.permanent} given up")
    return EXIT_WARNINGS if left else EXIT_OK


def _compiled(app: App, desk: Desk, place: Place) -> list[str]:
    """Compile a journal after late entries; a log that fails is still pending, and said."""
    tools = tools_of(desk, place, app.warn)
    return told(compile_logs(tools, chosen(tools)))
