"""`session-memory backup`: a consistent copy of the store, made while it is in use."""

from __future__ import annotations

from pathlib import Path

import click

from session_memory.cli.app import App, json_option, pass_app
from session_memory.cli.output import emit_json, human_bytes, safe
from session_memory.cli.stores import alone


@click.command(name="backup")
@click.argument("target", type=click.Path(path_type=Path, file_okay=False))
@json_option
@pass_app
def command(app: App, target: Path) -> None:
    """Copy the store into a new directory TARGET.

    The copy is a store of its own: `--set store.path=TARGET` reads it.

    \b
    Example:
      session-memory backup ~/memory-backup-2026-11-15
    """
    with alone(app, "a sweep") as store:
        size = store.backup(str(target.absolute()))
    if app.json:
        emit_json({"target": str(target.absolute()), "bytes": size})
    else:
        click.echo(f"copied {human_bytes(size)} to {safe(str(target))}")
