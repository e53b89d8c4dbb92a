"""`session-memory project open-work`: open items and blockers."""

from __future__ import annotations

import click
import msgspec

from session_memory.cli.app import App, json_option, long_output, pass_app
from session_memory.cli.options import option
from session_memory.cli.output import emit_json, safe
from session_memory.cli.recall_options import (
    echo_items,
    echo_left_out,
    open_recall,
    project_option,
    scope_request,
)
from session_memory.cli.session_argument import session_option
from session_memory.recall.left_out import left_out
from session_memory.recall.open_work import open_work
from session_memory.recall.scope_guard import CLAIMED


@click.command(name="open-work")
@project_option
@session_option()
@option("--all", "everything", is_flag=True, help="Also what is left out, and why.")
@json_option
@pass_app
@long_output
def command(app: App, project: str | None, session: str | None, *, everything: bool) -> None:
    """List open items, blockers and missing parts of the definition of done (mem_open_work).

    Only what the last sessions prove open is listed, each line with what it rests on.

    \b
    Examples:
      session-memory project open-work
      session-memory project open-work --all
      session-memory project open-work --session 42 --json
    """
    with open_recall(app) as (context, store):
        request = scope_request(store, project, session)
        answer = open_work(context, request)
        left = left_out(context, request) if everything else []
    if app.json:
        emit_json({**msgspec.to_builtins(answer), "left_out": left} if everything else answer)
        return
    if not answer.has_open_work:
        click.echo("nothing is open")
    echo_items("objective", [answer.objective] if answer.objective else [])
    echo_items("pending", answer.pending_items)
    echo_items("blockers", answer.blockers)
    echo_items("missing for done", answer.dod_missing)
    echo_items("rules", answer.constraints)
    for line in answer.guardrails:
        if line.startswith(CLAIMED):  # the others repeat what is listed
            click.echo(f"! {safe(line)}")
    if everything:
        echo_left_out(left)
