"""`session-memory pause`: stop capturing; what happens during a pause is never captured."""

from __future__ import annotations

import click

from session_memory.cli.app import App, json_option, pass_app
from session_memory.cli.options import option
from session_memory.cli.output import emit_json, human_time
from session_memory.core.pauses import begin
from session_memory.ingest.pauses import read_pauses, write_pauses


@click.command(name="pause")
@option(
    "--minutes", type=click.IntRange(1), help="Resume automatically after N minutes.", metavar="N"
)
@json_option
@pass_app
def command(app: App, minutes: int | None) -> None:
    """Stop capturing from now on, until `resume`.

    Sweeps still run, but they leave out whatever happened during a pause, even after it has ended.

    \b
    Examples:
      session-memory pause
      session-memory pause --minutes 30
    """
    now, directory = app.clock(), str(app.paths.data)
    until = None if minutes is None else now + minutes * 60_000
    write_pauses(directory, begin(read_pauses(directory), now, until))
    if app.json:
        emit_json({"paused": True, "until": until})
    else:
        ends = "with `session-memory resume`" if until is None else human_time(until, now)
        click.echo(f"paused; capture begins again {ends}")
