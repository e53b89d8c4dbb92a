"""`session-memory open-work`: what is still to do, and what is in the way."""

from __future__ import annotations

import click

from session_memory.cli.app import App, json_option, pass_app
from session_memory.cli.output import emit_json, safe
from session_memory.cli.recall_options import echo_items, open_recall, project_option, scope_request
from session_memory.cli.session_argument import session_option
from session_memory.recall.open_work import open_work


@click.command(name="open-work")
@project_option
@session_option()
@json_option
@pass_app
def command(app: App, project: str | None, session: str | None) -> None:
    """List open items, blockers and missing parts of the definition of done (mem_open_work).

    \b
    Examples:
      session-memory open-work
      session-memory open-work --session 42 --json
    """
    with open_recall(app) as (context, store):
        answer = open_work(context, scope_request(store, project, session))
    if app.json:
        emit_json(answer)
        return
    if not answer.has_open_work:
        click.echo("nothing is open")
    echo_items("objective", [answer.objective] if answer.objective else [])
    echo_items("pending", answer.pending_items)
    echo_items("blockers", answer.blockers)
    echo_items("missing for done", answer.dod_missing)
    echo_items("rules", answer.constraints)
    for line in answer.guardrails:
        click.echo(f"! {safe(line)}")
