"""`session-memory project changes`: what is new since the last pack."""

from __future__ import annotations

import click

from session_memory.cli.app import App, json_option, long_output, pass_app
from session_memory.cli.output import emit_json
from session_memory.cli.recall_options import echo_items, open_recall, project_option, scope_request
from session_memory.cli.session_argument import session_option
from session_memory.recall.recent_changes import ChangesAnswer, recent_changes


@click.command(name="changes")
@project_option
@session_option()
@json_option
@pass_app
@long_output
def command(app: App, project: str | None, session: str | None) -> None:
    """List what came and went since the last `project pack --sync`, or ever (mem_recent_changes).

    \b
    Examples:
      session-memory project changes
      session-memory project changes --project shop --json
    """
    with open_recall(app) as (context, store):
        answer = recent_changes(context, scope_request(store, project, session))
    if app.json:
        emit_json(answer)
        return
    click.echo(f"since {_began(answer)}")
    if not answer.has_changes:
        click.echo("nothing changed")
    echo_items("new pending", answer.new_pending_items)
    echo_items("resolved", answer.resolved_pending_items)
    echo_items("new blockers", answer.new_blockers)
    echo_items("cleared blockers", answer.cleared_blockers)
    echo_items("new gaps", answer.new_dod_gaps)
    echo_items("closed gaps", answer.cleared_dod_gaps)
    echo_items("new rules", answer.new_constraints)
    echo_items("dropped rules", answer.cleared_constraints)
    echo_items("new decisions", answer.new_decisions)


def _began(answer: ChangesAnswer) -> str:
    """The time since which changes count."""
    if answer.since is None:
        return "the beginning"
    day = answer.since[:16].replace("T", " ")
    began = answer.baseline_source == "project_start"
    return f"{day}, when the project began" if began else f"the pack of {day}"
