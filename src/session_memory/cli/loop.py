"""`session-memory rules stages`: where every rule stands, on one screen."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from session_memory.cli.app import App, json_option, pass_app
from session_memory.cli.output import emit_json, one_line, table

if TYPE_CHECKING:
    from session_memory.measure.stages import PatternStage

SHOWN = 15
TEXT_CHARS = 40


@click.command(name="loop")
@click.option("--all", "everything", is_flag=True, help="Every rule, including closed ones.")
@json_option
@pass_app
def command(app: App, everything: bool) -> None:
    """Show each rule's stage, from candidate to verdict, and the next command to run.

    \b
    Examples:
      session-memory rules stages
      session-memory rules stages --all --json
    """
    from session_memory.cli.rules_next import curate_context
    from session_memory.curate.decisions import read_stages
    from session_memory.measure.stages import counts

    patterns = read_stages(curate_context(app))
    by_stage = counts(patterns)
    if app.json:
        emit_json({"counts": by_stage, "patterns": patterns})
        return
    click.echo(
        " -> ".join(f"{name} {count}" for name, count in by_stage.items() if name != "closed")
    )
    rows = [pattern for pattern in patterns if everything or pattern.stage != "closed"]
    shown = rows if everything else rows[:SHOWN]
    if shown:
        headers = ("rule", "stage", "where", "verdict", "text", "next")
        click.echo(table(list(map(_row, shown)), headers))
    else:
        click.echo("no rules yet: `session-memory rules` looks for what recurs")
    if len(rows) > len(shown):
        app.note(f"{len(rows) - len(shown)} more; --all shows them")


def _row(pattern: PatternStage) -> tuple[object, ...]:
    return (
        pattern.pattern_id,
        pattern.stage,
        ", ".join(pattern.repos) or None,
        pattern.verdict,
        one_line(pattern.text)[:TEXT_CHARS],
        pattern.next or None,
    )
