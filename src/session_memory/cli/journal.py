"""`session-memory project journal`: daily logs of a project, and sessions not yet in them."""

from __future__ import annotations

import os
import re

import click
import msgspec

from session_memory.cli.app import App, VerbGroup, json_option, long_output, pass_app
from session_memory.cli.journal_context import (
    find_journal,
    latest_session,
    project_option,
    sessions_to_flush,
    store_context,
)
from session_memory.cli.journal_knowledge import VERBS
from session_memory.cli.options import option
from session_memory.cli.output import count_progress, emit_json, one_line, safe
from session_memory.cli.session_argument import named, names
from session_memory.clock import local_date
from session_memory.core.schema import Session
from session_memory.errors import EXIT_OK, EXIT_WARNINGS, NotFound
from session_memory.journal import daily
from session_memory.journal.compile import compile_logs, report_lines, select_logs
from session_memory.journal.context import JournalContext, compile_context, flush_context
from session_memory.journal.excerpt import make_excerpt, turns_of_session
from session_memory.journal.files import read_text
from session_memory.journal.flush import Outcome, retry_failed
from session_memory.journal.flush_records import count_pending, read_pending
from session_memory.journal.jobs import flush_session
from session_memory.journal.paths import JournalPaths, all_journals

OUTCOMES: dict[Outcome | None, str] = {
    "saved": "written into the log of its day",
    "nothing": "nothing worth saving; noted in the log of its day",
    "duplicate": "the same was flushed less than a minute ago",
    "failed": "no entry could be made; the session is kept for later (see retry-failed)",
    "empty": "nothing was said",
    "missing": "its context has gone",
    None: "nothing was said",
}


@click.group(cls=VerbGroup, name="journal")
def command() -> None:
    """The daily log of each project: what sessions did, decided, learned and left open.

    \b
    Examples:
      session-memory project journal today
      session-memory project journal show 2026-03-02 --project shop
      session-memory project journal flush
      session-memory project journal compile
      session-memory project journal query "why do we cache tokens"
      session-memory project journal lint --fix
      session-memory project journal health
    """


for verb in VERBS:
    command.add_command(verb)


@command.command()
@project_option
@json_option
@pass_app
@long_output
def today(app: App, project: str | None) -> None:
    """Print today's log.

    \b
    Examples:
      session-memory project journal today
      session-memory project journal today --project shop
    """
    _show(app, project, local_date(app.clock()))


@command.command()
@click.argument("date")
@project_option
@json_option
@pass_app
@long_output
def show(app: App, date: str, project: str | None) -> None:
    """Print the log of a day, written as 2026-03-02.

    \b
    Examples:
      session-memory project journal show 2026-03-02
      session-memory project journal show 2026-03-02 --project shop --json
    """
    if not re.fullmatch(r"\d{4}-\d{2}-\d{2}", date):
        raise click.BadParameter(f"`{date}` is not a date such as 2026-03-02")
    _show(app, project, date)


def _show(app: App, project: str | None, date: str) -> None:
    journal = find_journal(app, project)
    text = read_text(journal.day(date))
    if text is None:
        latest = ", ".join(path.stem for path in daily.days(journal)[:5])
        hint = (
            f"latest days: {latest}"
            if latest
            else "`session-memory project journal flush` writes one"
        )
        raise NotFound(f"no log of {date}", hint=hint)
    if app.json:
        entries = [msgspec.to_builtins(entry) for entry in daily.entries(text)]
        emit_json({"date": date, "path": str(journal.day(date)), "entries": entries, "text": text})
    else:
        click.echo(safe(text.encode("utf-8", "replace").decode()), nl=False)


@command.command()
@click.argument("session", required=False)
@option("--all", "everything", is_flag=True, help="Every session that has no entry yet.")
@option("--dry-run", is_flag=True, help="Show the text an entry would be made of.")
@json_option
@pass_app
def flush(app: App, session: str | None, everything: bool, dry_run: bool) -> int:
    """Write the end of a session into the log of the day it ended.

    Without SESSION, of the latest session of this directory.

    \b
    Examples:
      session-memory project journal flush 42
      session-memory project journal flush --all --dry-run
    """
    with store_context(app) as (context, store):
        if everything:
            sessions = sessions_to_flush(context, store)
        elif session is None:
            sessions = [latest_session(app, store)]
        else:
            sessions = [store.find_session(session)]
        if dry_run:
            for stored in sessions:
                text = make_excerpt(turns_of_session(store, stored.id), context.clean)
                _show_excerpt(app, stored, text)
            return EXIT_OK
        outcomes: list[tuple[Session, Outcome | None]] = []
        with count_progress("sessions", shown=app.shows_progress) as bar:
            for number, stored in enumerate(sessions):
                bar(number, len(sessions), stored.external_id)
                outcome = flush_session(context, stored, "end", stored.ended_at or 0)
                outcomes.append((stored, outcome))
    if app.json:
        rows = [{**names(session), "outcome": outcome or "empty"} for session, outcome in outcomes]
        emit_json({"sessions": rows} if everything else rows[0])
    else:
        for stored, outcome in outcomes:
            click.echo(f"{named(stored)}: {OUTCOMES[outcome]}")
    return EXIT_WARNINGS if any(outcome == "failed" for _, outcome in outcomes) else EXIT_OK


def _show_excerpt(app: App, session: Session, text: str) -> None:
    if app.json:
        emit_json({**names(session), "dry_run": True, "context": text})
    else:
        click.echo(safe(text))


@command.command("retry-failed")
@option("--all", "permanent", is_flag=True, help="Also those that were given up.")
@option("--dry-run", is_flag=True, help="Only count the pending sessions.")
@json_option
@pass_app
def retry(app: App, permanent: bool, dry_run: bool) -> int:
    """Retry sessions whose flush failed. Exit 3 if some are still pending.

    \b
    Examples:
      session-memory project journal retry-failed --dry-run
      session-memory project journal retry-failed
    """
    vault = app.config.journal.vault
    outcomes: dict[str, Outcome] = {}
    lines: list[str] = []
    if not dry_run:
        with store_context(app) as (context, _store):
            for journal in all_journals(app.paths.data, vault):
                due: list[tuple[str, ...]] = []
                flushing = flush_context(context, journal, due.append)
                outcomes |= retry_failed(flushing, permanent=permanent)
                # After the retry, which locks the journal: a compile may take long.
                lines += _compile(app, context, journal) if due else []
    pending = [
        excerpt
        for journal in all_journals(app.paths.data, vault)
        for excerpt in read_pending(journal, app.clock(), app.warn)
    ]
    count = count_pending(pending)
    if app.json:
        emit_json({"dry_run": dry_run, "outcomes": outcomes, **msgspec.to_builtins(count)})
    else:
        for path, outcome in outcomes.items():
            click.echo(f"{one_line(os.path.basename(path))}: {OUTCOMES[outcome]}")
        for line in lines:
            click.echo(safe(line))
        click.echo(f"{count.pending} waiting, {count.permanent} given up")
    return EXIT_WARNINGS if pending else EXIT_OK


def _compile(app: App, context: JournalContext, journal: JournalPaths) -> list[str]:
    """Compile a journal after late entries; a log that fails stays pending and is reported."""
    compiling = compile_context(context, journal, app.warn)
    return report_lines(compile_logs(compiling, select_logs(compiling)))
