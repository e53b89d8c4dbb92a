"""`session-memory config schedule`: run sweeps on a schedule."""

from __future__ import annotations

from pathlib import Path

import click

from session_memory.cli.app import App, VerbGroup, dry_run_option, json_option, pass_app
from session_memory.cli.options import option
from session_memory.cli.output import emit_json, safe
from session_memory.cli.wiring import launchers as find_launchers
from session_memory.errors import NotFound
from session_memory.install import schedule, schedule_run
from session_memory.install.ledger import note_schedule
from session_memory.install.schedule_run import System


@click.group(cls=VerbGroup, name="schedule")
def command() -> None:
    """Run sweeps on a schedule (systemd, launchd, cron, Task Scheduler).

    Agents with hooks trigger sweeps themselves; a schedule covers the others and is a safety net.

    \b
    Examples:
      session-memory config schedule install --every 1h
      session-memory config schedule show
      session-memory config schedule remove
    """


@command.command()
@option("--every", metavar="SPAN", help="5m to 1d; default: `ingest.cadence`.")
@dry_run_option
@pass_app
def install(app: App, every: str | None, dry_run: bool) -> None:
    """Install the schedule or update it, for example after changing `ingest.cadence`.

    \b
    Examples:
      session-memory config schedule install
      session-memory config schedule install --every 30m --dry-run
    """
    install_schedule(app, every, dry_run=dry_run)


@command.command()
@json_option
@pass_app
def show(app: App) -> None:
    """Show the installed schedule.

    \b
    Examples:
      session-memory config schedule show
      session-memory config schedule show --json
    """
    here = system(app)
    try:
        kind = schedule_run.kind_here(here)
        schedule = schedule_run.show(here, kind)
    except NotFound as error:
        kind, schedule = None, None
        app.note(error.message)
    if app.json:
        emit_json({"kind": kind, "installed": schedule is not None, "text": schedule})
    else:
        click.echo(safe(schedule).rstrip() if schedule else "no schedule is installed")


@command.command()
@dry_run_option
@pass_app
def remove(app: App, dry_run: bool) -> None:
    """Remove the schedule.

    \b
    Examples:
      session-memory config schedule remove
    """
    here = system(app)
    if dry_run:
        schedule = schedule_run.show(here, schedule_run.kind_here(here))
        app.note("a schedule would be removed" if schedule else "no schedule is installed")
        return
    app.note("removed" if remove_schedule(app) else "no schedule was installed")


def system(app: App) -> System:
    """What scheduling needs to know of this machine."""
    return System(str(Path.home()), dict(app.environ))


def install_schedule(app: App, every: str | None, *, dry_run: bool = False) -> None:
    """Install the schedule and print where."""
    launchers, here = find_launchers(app), system(app)
    minutes = schedule.minutes_of(app.config.ingest.cadence if every is None else every)
    words = launchers.program("sweep")
    job = schedule.Job((*words[:-1], "-q", "sweep"), minutes, launchers.environ)
    kind = schedule_run.kind_here(here)
    if dry_run:
        click.echo(safe(_schedule_text(kind, job)).rstrip())
        return
    note_schedule(launchers.data, kind)  # first: a record without a schedule does no harm
    for what in schedule_run.install(here, kind, job):
        app.note(f"scheduled every {minutes} minutes: {what}")


def remove_schedule(app: App) -> bool:
    """Remove the schedule; returns whether there was one."""
    here = system(app)
    try:
        removed = schedule_run.remove(here, schedule_run.kind_here(here))
    except NotFound:
        removed = False
    if (data := find_launchers(app).data).exists():
        note_schedule(data, None)
    return removed


def _schedule_text(kind: schedule.Kind, job: schedule.Job) -> str:
    match kind:
        case "systemd":
            return "\n".join(f"{n}:\n{text}" for n, text in schedule.systemd_units(job).items())
        case "launchd":
            return schedule.launchd_plist(job)
        case "cron":
            return schedule.cron_lines(job)
        case "tasks":
            return " ".join(schedule.task_argv(job))
