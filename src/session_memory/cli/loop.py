"""`session-memory rules stages`: where every rule stands, on one screen."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from session_memory.cli.app import App, json_option, long_output, pass_app
from session_memory.cli.options import option
from session_memory.cli.output import columns, echo_more, emit_json, fit, hanging, one_line

if TYPE_CHECKING:
    from session_memory.measure.stages import PatternStage

SHOWN = 20


@click.command(name="stages")
@option("--all", "everything", is_flag=True, help="Every rule, including closed ones.")
@json_option
@pass_app
@long_output
def command(app: App, everything: bool) -> None:
    """Show each rule's stage, from candidate to verdict, and the next command to run.

    A candidate was found and awaits your decision; provisional is kept until more sessions show
    it; approved may be given to agents; distributed stands in files they read; under trial is
    given to half of the sessions; measured has a verdict; closed was rejected or retired.

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
    if not patterns:
        click.echo("no rules yet: `session-memory rules` looks for what recurs")
        return
    click.echo(
        fit(", ".join(f"{_words(name)} {count}" for name, count in by_stage.items() if count))
    )
    rows = [pattern for pattern in patterns if everything or pattern.stage != "closed"]
    shown = rows if everything else rows[:SHOWN]
    for row in shown:
        click.echo("\n" + "\n".join(_paragraph(row)))
    echo_more(len(rows) - len(shown))


def _paragraph(row: PatternStage) -> list[str]:
    where = f" in {one_line(', '.join(row.repos))}" if row.repos else ""
    verdict = f", {_words(row.verdict)}" if row.verdict else ""
    following = f"; next: {row.next}" if row.next else ""
    return [
        *hanging("", f"{one_line(row.text)}  [{row.pattern_id}]", columns()),
        *hanging("  ", f"{_words(row.stage)}{where}{verdict}{following}", columns()),
    ]


def _words(name: str) -> str:
    """The name of a stage or verdict as one would say it."""
    return "too little data" if name == "insufficient_data" else name.replace("_", " ")
