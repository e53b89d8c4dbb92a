"""`session-memory review sync`: the store follows the catalog's files."""

from __future__ import annotations

from contextlib import nullcontext

import click

from session_memory.cli.app import App, json_option, pass_app
from session_memory.cli.output import emit_json
from session_memory.core.loop.catalog import Status


@click.command()
@click.option("--dry-run", is_flag=True, help="Show the outcome, write nothing.")
@json_option
@pass_app
def sync(app: App, dry_run: bool) -> None:
    """Bring the store in step with the catalog's files, which are the truth.

    After files were changed by git or by hand, or rows were lost: decisions are taken over from
    the files, figures are counted anew, the index is written anew. Texts edited by hand are named;
    they count once approved. What a file calls approved without the evidence that the gate asks for
    stays provisional, and is named with the reason.

    \b
    Examples:
      session-memory review sync --dry-run
      session-memory review sync
    """
    from session_memory.curate.catalog import changing, read_catalog, write_patterns
    from session_memory.curate.review import held_back, under_gate
    from session_memory.detect.run import Wanted, detect
    from session_memory.store.sqlite import open_store

    data = app.paths.data
    with nullcontext(read_catalog(data)) if dry_run else changing(data) as files:
        held = held_back(files, app.config.curate)
        catalog = under_gate(files, app.config.curate)
        decided: list[tuple[str, str, str, Status]] = [
            (name, one.kind, one.type, one.current.status)
            for name, one in sorted(catalog.patterns.items())
        ]
        with open_store(str(data), app.clock()) as store:
            patterns = store.patterns
            noted = patterns.statuses()
            changed = [name for name, _, _, status in decided if noted.get(name) != status]
            if not dry_run:
                patterns.restore(decided, app.clock())
                detect(patterns, Wanted(), app.clock())
                write_patterns(data, catalog, ())
    edited = [name for name, one in sorted(catalog.patterns.items()) if one.is_edited]
    if app.json:
        emit_json(
            {
                "dry_run": dry_run,
                "changed": changed,
                "edited_by_hand": edited,
                "held_back": held,
            }
        )
        return
    click.echo(f"{len(decided)} patterns in files, {len(changed)} decisions taken over")
    for name, why in held.items():
        click.echo(f"{name} is approved in its file only; the gate keeps it provisional: {why}")
    for name in edited:
        click.echo(f"{name} was edited by hand: `session-memory review approve {name}` takes it in")
