"""`session-memory store restore`: replace the store with a backup; the old one is kept aside."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import click
import msgspec

from session_memory.cli.app import App, confirm_or_leave, json_option, pass_app, yes_option
from session_memory.cli.forget import report_lines
from session_memory.cli.options import option
from session_memory.cli.output import byte_progress, emit_json, human_bytes, human_time, safe
from session_memory.core.pauses import merge_pauses
from session_memory.distil.sessions import analyze
from session_memory.errors import Refused, SessionMemoryError
from session_memory.forget.features import forget_sessions
from session_memory.forget.plan import forgotten_by_name
from session_memory.forget.report import ForgetContext
from session_memory.ingest.pauses import read_pauses, write_pauses
from session_memory.paths import Paths, private_dir
from session_memory.store import marks, open_store
from session_memory.store.lock import exclusive
from session_memory.store.maintenance import (
    BackupContent,
    PresentStore,
    check_backup,
    inspect_present,
    refuse_damage,
    stage_backup,
)
from session_memory.store.port import MarksApplied, Store
from session_memory.store.swap import Plan, plan_swap, staging, swap
from session_memory.store.unfinished import marked
from session_memory.worker.injection_pages import drop_pages


@click.command(name="restore")
@click.argument("source", metavar="DIR", type=click.Path(path_type=Path))
@option("--dry-run", is_flag=True, help="Check the backup and show what would be replaced.")
@yes_option
@option("--without-marks", is_flag=True, help="Restore although forget marks are lost.")
@json_option
@pass_app
def command(app: App, source: Path, dry_run: bool, yes: bool, without_marks: bool) -> None:
    """Replace the store with the backup in DIR.

    The backup is checked first, byte for byte. What you forgot since it was made stays forgotten.
    The present store is kept aside, and the path is printed. How agents are wired does not change.
    Run `session-memory sweep` afterwards to capture what is newer than the backup.

    Exit code 1: the backup is damaged. 5: it was made by a newer version. 6: a sweep is running. 8:
    the forget marks are lost, or there is no terminal to confirm on.

    \b
    Examples:
      session-memory store restore --dry-run ~/memory-backup
      session-memory store restore ~/memory-backup
      session-memory store restore --yes --json ~/memory-backup
    """
    source = source.absolute()
    data = str(app.paths.data)
    if source.resolve() == app.paths.data.resolve():
        raise Refused(f"{source} is the store itself", hint="name a backup of it")
    with byte_progress(shown=app.shows_progress) as advance:
        backup = check_backup(str(source), advance)
    present = inspect_present(data, app.clock())
    if not app.json:
        click.echo("\n".join(_lines(app, backup, present)), err=not dry_run)
    if not dry_run:
        _ask(present, yes=yes, without_marks=without_marks)
        plan, applied = _restore(app, str(source))
    else:
        plan, applied = None, MarksApplied()
    _print_done(app, backup, present, (plan, applied))


def _lines(app: App, backup: BackupContent, present: PresentStore) -> list[str]:
    """What would replace what."""
    made = backup.manifest
    when = f"made {human_time(made.made_at, app.clock())} by {made.version}" if made else "no list"
    lines = [
        f"backup   {safe(backup.directory)}: {when}",
        f"         {_count(backup)}, {human_bytes(backup.bytes)}; checked",
    ]
    if made is None:
        lines.append("         it has no backup.json: only database and texts could be checked")
    if not present.exists:
        return [*lines, f"replaces nothing: there is no store at {safe(str(app.paths.data))}"]
    lines.append(f"replaces {safe(str(app.paths.data))}")
    if present.unreadable:
        return [*lines, f"         it is damaged: {safe(present.unreadable)}"]
    last = human_time(present.last_event_at, app.clock())
    return [
        *lines,
        f"         {_count(present)}, the last at {last}",
    ]


def _count(store: BackupContent | PresentStore) -> str:
    return f"{store.sessions} sessions, {store.events} events"


def _ask(present: PresentStore, *, yes: bool, without_marks: bool) -> None:
    """Whether to replace the store, and whether to do so without knowing what was forgotten."""
    if present.marks_lost and not without_marks:
        warning = (
            "what you forgot since the backup was made is not known any more: it would come back"
        )
        if yes or not sys.stdin.isatty():
            raise Refused(
                f"{marks.NAME} is lost, and {warning}",
                hint="put that file back next to `store.db`, or add --without-marks",
            )
        click.echo(f"{marks.NAME} is lost, and {warning}.", err=True)
        confirm_or_leave("Restore nevertheless?", "nothing was restored")
    if not yes:
        if not sys.stdin.isatty():
            raise Refused("this would replace the store", hint="add --yes to do it")
        confirm_or_leave("Restore? The present store is kept aside.", "nothing was restored")


def _restore(app: App, source: str) -> tuple[Plan, MarksApplied]:
    directory = str(private_dir(app.paths.data))
    with (
        exclusive(os.path.join(directory, "sweep.lock"), "a sweep"),
        marked(directory),
        staging(directory) as prepared,
        byte_progress(shown=app.shows_progress) as advance,
    ):
        stage_backup(source, prepared, advance)
        present = inspect_present(directory, app.clock())  # again: no forget can run now
        marks.add_marks(prepared, present.marks)
        with open_store(prepared, app.clock()) as store:
            applied = store.apply_marks()
            _clean(app, store, prepared, applied)
            refuse_damage(store, source)
        with marks.unchanging(directory):
            _take_pauses(app, directory, prepared)
            plan = plan_swap(directory, app.clock())
            swap(directory, plan)
    drop_pages(app.paths.state)
    return plan, applied


def _clean(app: App, store: Store, prepared: str, applied: MarksApplied) -> None:
    """Take what was forgotten out of everything that was made of it."""
    forgotten = {*applied.sessions, *applied.shortened}
    if not forgotten:
        return
    if applied.shortened:
        with store.writing() as writer:
            analyze(store, writer)
    here = Paths(app.paths.config_file, Path(prepared), app.paths.state, app.paths.cache)
    context = ForgetContext(store, here, app.config.journal.vault, app.clock())
    report = forget_sessions(context, forgotten_by_name(store, forgotten))
    for line in report_lines(report):
        app.warn(line)
    store.erase_traces()


def _take_pauses(app: App, directory: str, prepared: str) -> None:
    """Pauses of both stores hold; one may have begun just now."""
    try:
        pauses = read_pauses(directory)
    except SessionMemoryError as error:
        app.warn(f"pauses of the store that is replaced are lost: {error.message}")
        return
    if pauses:
        write_pauses(prepared, merge_pauses(pauses, read_pauses(prepared)))


def _print_done(
    app: App, backup: BackupContent, present: PresentStore, done: tuple[Plan | None, MarksApplied]
) -> None:
    plan, applied = done
    aside = str(app.paths.data / plan.aside) if plan and plan.out else None
    if app.json:
        made = backup.manifest
        emit_json(
            {
                "dry_run": plan is None,
                "backup": {
                    "path": backup.directory,
                    "made_at": made.made_at if made else None,
                    "version": made.version if made else None,
                    "sessions": backup.sessions,
                    "events": backup.events,
                    "bytes": backup.bytes,
                },
                "replaces": _present_json(present) if present.exists else None,
                "marks_lost": present.marks_lost,
                "aside": aside,
                "forgotten_sessions": len(applied.sessions),
                "shortened_sessions": len(applied.shortened),
            }
        )
        return
    if plan is None:
        click.echo("dry run: nothing was changed")
        return
    click.echo(f"restored {backup.sessions - len(applied.sessions)} sessions")
    if applied.sessions or applied.shortened:
        click.echo(
            f"forgotten since the backup, and left out: {len(applied.sessions)} sessions,"
            f" and single events of {len(applied.shortened)}"
        )
    if aside:
        click.echo(f"the previous store is kept in {safe(aside)}")
        if not present.unreadable:
            click.echo(f"undo with: session-memory store restore {safe(aside)}")
        click.echo("delete that directory when you do not need it any more")
    click.echo("now run `session-memory sweep` to capture what is newer than the backup")


def _present_json(present: PresentStore) -> dict[str, Any]:
    fields: dict[str, Any] = msgspec.structs.asdict(present)
    return {name: fields[name] for name in ("sessions", "events", "last_event_at", "unreadable")}
