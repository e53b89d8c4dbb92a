"""`session-memory version`: what runs here, for reports and for programs."""

from __future__ import annotations

import platform
import sys

import click

from session_memory import __version__
from session_memory.cli.app import App, json_option, pass_app
from session_memory.cli.output import columns, emit_json, hanging


@click.command(name="version")
@json_option
@pass_app
def command(app: App) -> None:
    """Show the versions of the program, its schema and parsers, Python and SQLite.

    \b
    Examples:
      session-memory version
      session-memory version --json
    """
    from session_memory.adapters.registry import adapters
    from session_memory.export.records import FORMAT
    from session_memory.store import database_version, schema_version

    parsers = {name: adapter.parser_version for name, adapter in adapters().items()}
    versions: dict[str, object] = {
        "package": __version__,
        "schema": schema_version(),
        "export_format": FORMAT,
        "parsers": parsers,
        "python": platform.python_version(),
        "sqlite": database_version(),
        "platform": f"{sys.platform} {platform.machine()}",
    }
    if app.json:
        emit_json(versions)
        return
    shown = {**versions, "parsers": ", ".join(f"{name} {n}" for name, n in parsers.items())}
    for name, value in shown.items():
        lead = f"{name.replace('_', ' '):<14} "
        click.echo("\n".join(hanging(lead, str(value), columns())))
