"""`session-memory jobs`: list, retry or drop background jobs."""

from __future__ import annotations

import click
import msgspec

from session_memory.cli.app import App, VerbGroup, json_option, pass_app
from session_memory.cli.output import emit_json, table
from session_memory.cli.store import reading
from session_memory.clock import iso
from session_memory.core.jobs import state_of
from session_memory.errors import NotFound


@click.group(cls=VerbGroup, name="jobs", invoke_without_command=True)
@json_option
@click.pass_context
def command(context: click.Context) -> None:
    """List background jobs: waiting, running and failed.

    \b
    Examples:
      session-memory jobs
      session-memory jobs retry 7
      session-memory jobs drop 7
    """
    if context.invoked_subcommand is not None:
        return
    app = context.ensure_object(App)
    with reading(app) as store:
        jobs = store.jobs.all()
    now = app.clock()
    if app.json:
        emit_json({"jobs": [{**msgspec.to_builtins(j), "state": state_of(j, now)} for j in jobs]})
        return
    rows = [
        (j.id, j.kind, j.key[:40], state_of(j, now), j.retries_left, iso(j.retry_at), j.last_error)
        for j in jobs
    ]
    if not rows:
        click.echo("no background jobs")
        return
    click.echo(table(rows, ("job", "kind", "about", "state", "tries left", "not before", "error")))


@command.command()
@click.argument("job", type=int)
@pass_app
def retry(app: App, job: int) -> None:
    """Retry a failed or waiting job, with all its attempts restored.

    \b
    Examples:
      session-memory jobs retry 7
    """
    with reading(app) as store:
        if not store.jobs.retry(job):
            raise NotFound(f"no job {job}", hint="`session-memory jobs` lists them")
    click.echo(f"job {job} is due again")


@command.command()
@click.argument("job", type=int)
@pass_app
def drop(app: App, job: int) -> None:
    """Remove a job; a worker that is running it can no longer commit.

    \b
    Examples:
      session-memory jobs drop 7
    """
    with reading(app) as store:
        if not store.jobs.drop(job):
            raise NotFound(f"no job {job}", hint="`session-memory jobs` lists them")
    click.echo(f"job {job} removed")
