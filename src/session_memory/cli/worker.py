"""`session-memory worker`: process queued hook events, or show the queue."""

from __future__ import annotations

import os
import secrets
import threading

import click

from session_memory.cli.app import App, VerbGroup, json_option, pass_app
from session_memory.cli.output import emit_json
from session_memory.cli.store import sweep_context
from session_memory.errors import StoreLocked
from session_memory.ingest.last_sweep import read_last_sweep
from session_memory.paths import private_dir
from session_memory.store.lock import exclusive
from session_memory.worker.features import WorkerFeatures
from session_memory.worker.run import Worker
from session_memory.worker.spool_files import SpoolFiles

HARD_LIMIT_S = 1800.0


@click.group(cls=VerbGroup, name="worker")
def command() -> None:
    """Process queued hook events, or show the queue.

    \b
    Examples:
      session-memory worker run
      session-memory worker status
    """


@command.command()
@json_option
@pass_app
def run(app: App) -> None:
    """Process the spool and due jobs, then exit. Only one runs at a time; safe to kill.

    \b
    Examples:
      session-memory worker run
      session-memory worker run --json
    """
    private_dir(app.paths.state)
    # Whatever hangs, the process ends: every step of it can be done again.
    watchdog = threading.Timer(HARD_LIMIT_S, os._exit, (1,))
    watchdog.daemon = True
    watchdog.start()
    os.environ["SESSION_MEMORY_INTERNAL"] = "1"  # hooks of agents that we run stay silent
    token = secrets.token_hex(8)
    features = WorkerFeatures(app.paths, app.config, app.environ, app.clock, token)
    report = Worker(sweep_context(app), app.paths.state, token, features=features).run()
    last = read_last_sweep(app.paths.last_sweep)
    if report.sweeps and last is not None and last.report.get("rescan_due"):
        from session_memory.cli.secrets import catch_up  # rare, after an update

        catch_up(app)
    watchdog.cancel()
    if app.json:
        emit_json(report)
    elif report.already_running and not report.records:
        app.note("a worker is already running")
    else:
        click.echo(
            f"{report.records} records, {report.imports} imports, {report.sweeps} sweeps,"
            f" {report.waiting} waiting, {report.skipped} skipped, {report.jobs_done} jobs"
        )


@command.command()
@json_option
@pass_app
def launchers(app: App) -> None:
    """Write the files that agents run, as `init` does, and wire no agent.

    Plug-ins made by `package` call this where `init` was never run.

    \b
    Examples:
      session-memory worker launchers
    """
    from session_memory.cli import wiring
    from session_memory.install import hook_files
    from session_memory.install.ledger import installing

    ours = wiring.launchers(app)
    with installing(ours.data):
        written = hook_files.write(ours)
    if app.json:
        emit_json({"written": [str(path) for path in written]})
    else:
        click.echo(f"{len(written)} files written in {ours.folder} and {ours.state}")


@command.command()
@json_option
@pass_app
def status(app: App) -> None:
    """Show whether a worker is running, and what waits for it.

    \b
    Examples:
      session-memory worker status
      session-memory worker status --json
    """
    counts = SpoolFiles(str(app.paths.state / "spool")).counts()
    running = app.paths.state.exists() and _is_running(app)
    if app.json:
        emit_json({"running": running, **counts})
        return
    click.echo(f"worker      {'running' if running else 'not running'}")
    click.echo(f"spool       {counts['waiting']} records, {counts['damaged']} damaged")


def _is_running(app: App) -> bool:
    lock = app.paths.state / "worker.lock"
    if not lock.exists():
        return False
    try:
        with exclusive(str(lock), "a worker"):
            return False
    except StoreLocked:
        return True
