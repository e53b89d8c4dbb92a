"""`session-memory store backup`: a checked copy of the store, complete or absent."""

from __future__ import annotations

from pathlib import Path

import click

from session_memory import audit
from session_memory.cli.app import App, json_option, pass_app
from session_memory.cli.options import option
from session_memory.cli.output import byte_progress, emit_json, human_bytes, safe
from session_memory.cli.store import alone


@click.command(name="backup")
@click.argument("target", type=click.Path(path_type=Path))
@option(
    "--replace", is_flag=True, help="Replace the backup in TARGET once the new one is complete."
)
@json_option
@pass_app
def command(app: App, target: Path, replace: bool) -> None:
    """Copy the store into a new directory TARGET, and verify the copy.

    TARGET appears once every byte is written and verified; a backup that fails or is interrupted
    leaves nothing behind. `session-memory store restore TARGET` restores it. A damaged store is not
    copied (exit code 1), nor one during a sweep (6).

    The copy is a complete store: `--set store.path=TARGET` reads it.

    \b
    Examples:
      session-memory store backup ~/memory-backup-2026-11-15
      session-memory store backup --replace ~/memory-backup
    """
    absolute_target = str(target.absolute())
    with (
        alone(app, "a sweep or another backup") as store,
        byte_progress(shown=app.shows_progress) as advance,
    ):
        size = store.backup(absolute_target, advance, replace=replace)
        # so that `forget` can name this copy
        audit.append(
            app.paths.data,
            audit.Written(
                app.clock(), "backup", absolute_target, "asked for by backup", None, None
            ),
        )
    if app.json:
        emit_json({"target": absolute_target, "bytes": size, "checked": True})
    else:
        click.echo(f"copied and checked {human_bytes(size)} in {safe(str(target))}")
