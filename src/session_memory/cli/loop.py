"""`session-memory loop`: where every pattern stands, on one screen."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from session_memory.cli.app import App, json_option, pass_app
from session_memory.cli.output import emit_json, one_line, table
from session_memory.store import store_exists

if TYPE_CHECKING:
    from session_memory.measure.stages import Facts, Stage

SHOWN = 15
TEXT_CHARS = 40


@click.command(name="loop")
@click.option("--all", "everything", is_flag=True, help="Every pattern, including closed ones.")
@json_option
@pass_app
def command(app: App, everything: bool) -> None:
    """Show each pattern's stage, from candidate to verdict, and the next command to run.

    \b
    Examples:
      session-memory loop
      session-memory loop --all --json
    """
    from session_memory.measure.stages import counts, stages

    found = stages(_facts(app))
    if app.json:
        emit_json({"counts": counts(found), "patterns": found})
        return
    click.echo(
        " -> ".join(f"{name} {count}" for name, count in counts(found).items() if name != "closed")
    )
    rows = [one for one in found if everything or one.stage != "closed"]
    shown = rows if everything else rows[:SHOWN]
    if shown:
        headers = ("pattern", "stage", "where", "verdict", "text", "next")
        click.echo(table([_row(one) for one in shown], headers))
    else:
        click.echo("no patterns yet: `session-memory detect`, then `session-memory review propose`")
    if len(rows) > len(shown):
        app.note(f"{len(rows) - len(shown)} more; --all shows them")


def _facts(app: App) -> Facts:
    from session_memory.cli.store import reading
    from session_memory.curate.catalog import read_catalog
    from session_memory.curate.review import under_gate
    from session_memory.measure.stages import Facts
    from session_memory.store.given_files import read_given
    from session_memory.store.trial_files import read_trials

    data = app.paths.data
    effects = ()
    if store_exists(app.paths.data):
        with reading(app) as store:
            effects = tuple(store.effects.all())
    catalog = under_gate(read_catalog(data), app.config.curate)
    return Facts(catalog, read_given(data), read_trials(data), effects)


def _row(one: Stage) -> tuple[object, ...]:
    where = ", ".join(one.repos) or None
    return (
        one.pattern_id,
        one.stage,
        where,
        one.verdict,
        one_line(one.text)[:TEXT_CHARS],
        one.next or None,
    )
