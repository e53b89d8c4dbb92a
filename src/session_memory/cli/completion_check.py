"""`session-memory completion-check`: whether the work is done, and if not, why."""

from __future__ import annotations

import click

from session_memory.cli.app import App, json_option, pass_app
from session_memory.cli.output import emit_json
from session_memory.cli.recall_options import echo_items, project_option, recalling, scope_of
from session_memory.cli.session_argument import session_option
from session_memory.recall.facade import Recall


@click.command(name="completion-check")
@project_option
@session_option()
@click.option("--dry-run", is_flag=True, help="Do not record that you asked.")
@json_option
@pass_app
def command(app: App, project: str | None, session: str | None, dry_run: bool) -> None:
    """Say whether nothing is open and something shows it (mem_completion_check).

    \b
    Examples:
      session-memory completion-check
      session-memory completion-check --session 42 --json
    """
    with recalling(app) as (_, store):
        recall = Recall(store, app.clock, read_only=dry_run)
        answer = recall.completion_check(scope_of(store, project, session))
    if app.json:
        emit_json(answer)
        return
    click.echo(f"{'done' if answer.done else 'not done'}: {', '.join(answer.reasons) or 'ready'}")
    if answer.closure_mismatch:
        click.echo("completion was claimed, and it is not so")
    echo_items("pending", answer.pending_items, answer.pending_count)
    echo_items("blockers", answer.blockers, answer.blocker_count)
    echo_items("missing for done", answer.dod_missing, answer.dod_missing_count)
    echo_items("evidence", answer.evidence_items, answer.evidence_count)
