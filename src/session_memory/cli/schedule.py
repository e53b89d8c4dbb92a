"""`session-memory schedule`: have the system run a sweep by its clock."""

from __future__ import annotations

from pathlib import Path

import click

from session_memory.cli.app import App, json_option, pass_app
from session_memory.cli.output import emit_json, safe
from session_memory.cli.wiring import ours
from session_memory.errors import NotFound
from session_memory.install import schedule, schedule_run
from session_memory.install.ledger import note_schedule
from session_memory.install.schedule_run import System


@click.group(name="schedule")
def command() -> None:
    """Have the system run a sweep by its clock: systemd, launchd, crontab or Task Scheduler.

    Agents with hooks ask for a sweep themselves; this is for those without, and as a safety net.

    \b
    Examples:
      session-memory schedule install --every 1h
      session-memory schedule show
      session-memory schedule remove
    """


@command.command()
@click.option("--every", metavar="SPAN", help="5m to 1d; without it, `ingest.cadence`.")
@click.option("--dry-run", is_flag=True, help="Show what would be put in place.")
@pass_app
def install(app: App, every: str | None, dry_run: bool) -> None:
    """Put the schedule in place, or change it: also after `ingest.cadence` was changed.

    \b
    Examples:
      session-memory schedule install
      session-memory schedule install --every 30m --dry-run
    """
    install_schedule(app, every, dry_run=dry_run)


@command.command()
@json_option
@pass_app
def show(app: App) -> None:
    """What is in place.

    \b
    Examples:
      session-memory schedule show
      session-memory schedule show --json
    """
    here = system(app)
    try:
        kind = schedule_run.kind_here(here)
        found = schedule_run.show(here, kind)
    except NotFound as error:
        kind, found = None, None
        app.note(error.message)
    if app.json:
        emit_json({"kind": kind, "installed": found is not None, "text": found})
    else:
        click.echo(safe(found).rstrip() if found else "no schedule is installed")


@command.command()
@click.option("--dry-run", is_flag=True, help="Only say whether there is one.")
@pass_app
def remove(app: App, dry_run: bool) -> None:
    """Take the schedule away.

    \b
    Examples:
      session-memory schedule remove
    """
    here = system(app)
    if dry_run:
        found = schedule_run.show(here, schedule_run.kind_here(here))
        app.note("a schedule would be removed" if found else "no schedule is installed")
        return
    app.note("removed" if remove_schedule(app) else "no schedule was installed")


def system(app: App) -> System:
    """This machine, as far as schedules go."""
    return System(str(Path.home()), dict(app.environ))


def install_schedule(app: App, every: str | None, *, dry_run: bool = False) -> None:
    """Put it in place and say where."""
    mine, here = ours(app), system(app)
    minutes = schedule.minutes_of(app.config.ingest.cadence if every is None else every)
    words = mine.program("sweep")
    job = schedule.Job((*words[:-1], "-q", "sweep"), minutes, mine.environ)
    kind = schedule_run.kind_here(here)
    if dry_run:
        click.echo(safe(_told(kind, job)).rstrip())
        return
    note_schedule(mine.data, kind)  # first: what is noted and missing does no harm
    for what in schedule_run.install(here, kind, job):
        app.note(f"scheduled every {minutes} minutes: {what}")


def remove_schedule(app: App) -> bool:
    """Take it away; whether there was one."""
    here = system(app)
    try:
        found = schedule_run.remove(here, schedule_run.kind_here(here))
    except NotFound:
        found = False
    if (data := ours(app).data).exists():
        note_schedule(data, None)
    return found


def _told(kind: schedule.Kind, job: schedule.Job) -> str:
    match kind:
        case "systemd":
            return "\n".join(f"{n}:\n{text}" for n, text in schedule.systemd_units(job).items())
        case "launchd":
            return schedule.launchd_plist(job)
        case "cron":
            return schedule.cron_lines(job)
        case "tasks":
            return " ".join(schedule.task_argv(job))
