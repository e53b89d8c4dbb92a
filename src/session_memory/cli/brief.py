"""`session-memory project brief`: a project or session at a glance."""

from __future__ import annotations

import click

from session_memory.cli.app import App, json_option, long_output, pass_app
from session_memory.cli.output import emit_json, fit, safe
from session_memory.cli.recall_options import (
    echo_items,
    open_recall,
    project_option,
    reason_text,
    scope_request,
)
from session_memory.cli.session_argument import session_option
from session_memory.recall.pack_facts import read_facts
from session_memory.recall.project_brief import project_brief
from session_memory.recall.scope import open_scope


@click.command(name="brief")
@project_option
@session_option()
@json_option
@pass_app
@long_output
def command(app: App, project: str | None, session: str | None) -> None:
    """Show counts, open work, decisions and changes of a project (mem_project_brief).

    \b
    Examples:
      session-memory project brief
      session-memory project brief --project shop --json
    """
    with open_recall(app) as (context, store):
        request = scope_request(store, project, session)
        answer = project_brief(context, request)
        facts = read_facts(store, open_scope(store, request.project_key, request.session_id))
    if app.json:
        emit_json(answer)
        return
    counts, check = answer.counts, answer.completion_check
    click.echo(f"{safe(answer.project.project_key)}  {safe(answer.project.root_path or '-')}")
    click.echo(
        f"{counts.sessions} sessions, {counts.turns} turns, {counts.observations} observations,"
        f" {counts.active_decisions} decisions"
    )
    click.echo("done" if check.done else f"not done: {reason_text(check.primary_reason)}")
    state = answer.operational_state
    for line in (*facts.verify, *facts.resume):
        click.echo(fit(safe(line)))
    echo_items("objective", [state.objective] if state.objective else [])
    echo_items("pending", state.pending_items, state.pending_count)
    echo_items("blockers", state.blockers, state.blocker_count)
    echo_items("decisions", answer.recent_decisions, state.decision_count)
    echo_items("new since last time", answer.recent_changes.new_pending_items)
