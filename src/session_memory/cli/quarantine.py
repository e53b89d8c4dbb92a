"""`session-memory store quarantine`: damaged lines of logs, and where they are."""

from __future__ import annotations

import click

from session_memory.cli.app import App, json_option, long_output, pass_app
from session_memory.cli.options import option
from session_memory.cli.output import echo_more, emit_json, table
from session_memory.cli.store import reading
from session_memory.clock import iso

SHOWN = 50


@click.command(name="quarantine")
@option("--all", "everything", is_flag=True, help=f"All of them, not only {SHOWN}.")
@json_option
@pass_app
@long_output
def command(app: App, everything: bool) -> None:
    """List lines of logs that could not be read, damaged or too long, by file and byte offset.

    Lines in quarantine are left out of what is stored, except for what could be recovered.

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
    shown = damaged if everything else damaged[:SHOWN]
    rows = [(path, offset, (iso(at) or "")[:16].replace("T", " ")) for path, offset, at in shown]
    click.echo(table(rows, ("log", "byte", "noticed")))
    echo_more(len(damaged) - len(shown))
