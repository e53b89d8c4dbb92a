"""`session-memory repair`: mend what fsck found, layer by layer, told before it is done."""

from __future__ import annotations

import click

from session_memory.cli.app import App, json_option, pass_app
from session_memory.cli.output import emit_json, one_line
from session_memory.cli.stores import changing
from session_memory.errors import EXIT_OK, EXIT_WARNINGS
from session_memory.store.values import Repaired

LAYERS = ("orphans", "segments", "counts", "usage", "index")


@click.command(name="repair")
@click.option("--layer", "layers", type=click.Choice(LAYERS), multiple=True, help="Only these.")
@click.option("--apply", "apply_", is_flag=True, help="Do it; without this it is only told.")
@json_option
@pass_app
def command(app: App, layers: tuple[str, ...], apply_: bool) -> int:
    """Mend what `fsck` found: orphans, segments, counts, usage, index.

    Texts of a damaged segment are read again from the agent's log by the next sweep where that log
    still exists; what no log holds any more is listed as lost (exit code 3).

    \b
    Examples:
      session-memory repair                   what would be done
      session-memory repair --apply
      session-memory repair --layer index --apply
    """
    done: list[Repaired] = []
    with changing(app, "a sweep") as store:
        for layer in layers or LAYERS:
            done += store.repair(layer, dry_run=not apply_)
    if app.json:
        emit_json({"applied": apply_, "repairs": done})
    else:
        for entry in done:
            click.echo(f"{entry.layer}: {one_line(entry.detail)}")
        told = "repaired" if apply_ else "to repair; --apply does it"
        click.echo(f"{len(done)} {told}" if done else "nothing to repair")
    return EXIT_WARNINGS if any(entry.lost for entry in done) else EXIT_OK
