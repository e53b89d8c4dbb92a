"""`session-memory resume`: capture again, from now on."""

from __future__ import annotations

import click

from session_memory.cli.app import App, json_option, pass_app
from session_memory.cli.output import emit_json
from session_memory.core.pauses import end, is_paused
from session_memory.ingest.pauses import read_pauses, write_pauses


@click.command(name="resume")
@json_option
@pass_app
def command(app: App) -> None:
    """Capture again from now on; what happened during the pause is never captured.

    \b
    Examples:
      session-memory resume
    """
    now, directory = app.clock(), str(app.paths.data)
    pauses = read_pauses(directory)
    was_paused = is_paused(pauses, now)
    if was_paused:
        write_pauses(directory, end(pauses, now))
    if app.json:
        emit_json({"paused": False, "was_paused": was_paused})
    else:
        click.echo("capturing again" if was_paused else "capture was not paused")
