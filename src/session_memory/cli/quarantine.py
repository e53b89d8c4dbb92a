"""`session-memory store quarantine`: damaged lines of logs, and where they are."""

from __future__ import annotations

import click

from session_memory.cli.app import App, json_option, pass_app
from session_memory.cli.output import emit_json, table
from session_memory.cli.store import reading
from session_memory.clock import iso


@click.command(name="quarantine")
@json_option
@pass_app
def command(app: App) -> None:
    """List lines of logs that could not be read, damaged or too long, by file and byte offset.

    What could be recovered of a damaged line is stored.

    \b
    Example:
      session-memory store quarantine
    """
    with reading(app) as store:
        damaged = store.quarantined()
    if app.json:
        emit_json({"damaged": [{"path": p, "offset": o, "noticed_at": t} for p, o, t in damaged]})
        return
    if not damaged:
        click.echo("no damaged line is known")
        return
    rows = [(path, offset, (iso(at) or "")[:16]) for path, offset, at in damaged]
    click.echo(table(rows, ("log", "byte", "noticed")))
