"""`session-memory project completion-check`: whether the work is done, and if not, why."""

from __future__ import annotations

import click

from session_memory.cli.app import App, json_option, long_output, pass_app
from session_memory.cli.options import option
from session_memory.cli.output import emit_json
from session_memory.cli.recall_options import (
    echo_items,
    open_recall,
    project_option,
    reason_text,
    scope_request,
)
from session_memory.cli.session_argument import session_option
from session_memory.recall.completion_check import completion_check


@click.command(name="completion-check")
@project_option
@session_option()
@option("--dry-run", is_flag=True, help="Do not record this check.")
@json_option
@pass_app
@long_output
def command(app: App, project: str | None, session: str | None, dry_run: bool) -> None:
    """Say whether the work is done: nothing open, and evidence of it (mem_completion_check).

    \b
    Examples:
      session-memory project completion-check
      session-memory project completion-check --session 42 --json
    """
    with open_recall(app, read_only=dry_run) as (context, store):
        answer = completion_check(context, scope_request(store, project, session))
    if app.json:
        emit_json(answer)
        return
    click.echo(
        "done" if answer.done else f"not done: {', '.join(map(reason_text, answer.reasons))}"
    )
    if answer.closure_mismatch:
        click.echo("completion was claimed, but the work is not done")
    echo_items("pending", answer.pending_items, answer.pending_count)
    echo_items("blockers", answer.blockers, answer.blocker_count)
    echo_items("missing for done", answer.dod_missing, answer.dod_missing_count)
    echo_items("evidence", answer.evidence_items, answer.evidence_count)
