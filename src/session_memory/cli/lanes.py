"""`session-memory project lanes`: the parts of a project in which sessions worked."""

from __future__ import annotations

import click

from session_memory.cli.app import App, json_option, long_output, pass_app
from session_memory.cli.output import emit_json, table
from session_memory.cli.recall_options import open_recall, project_key, project_option
from session_memory.recall.requests import ScopeResolveRequest
from session_memory.recall.scope_resolve import scope_resolve

_NEXT = {
    "needs_hint": "`session-memory project lanes HINT` says which of them a hint means",
    "no_match": "no lane fits this hint: say it otherwise",
    "lane_resolved": "`session-memory sessions --project KEY` lists sessions to look at",
    "ambiguous": "several lanes fit: say more",
}


@click.command(name="lanes")
@click.argument("hint", required=False)
@project_option
@json_option
@pass_app
@long_output
def command(app: App, hint: str | None, project: str | None) -> None:
    """List the lanes of a project, and which of them HINT means (mem_scope_resolve).

    \b
    Examples:
      session-memory project lanes
      session-memory project lanes "the checkout page" --project shop
    """
    with open_recall(app) as (context, store):
        request = ScopeResolveRequest(project_key(store, project), hint)
        answer = scope_resolve(context, request)
    if app.json:
        emit_json(answer)
        return
    columns = ("lane", "sessions", "latest turn", "score", "confidence")[: 5 if hint else 3]
    rows = [
        (
            lane.inferred_sub_scope,
            lane.session_count,
            (lane.latest_turn_at or "-")[:10],
            lane.top_score,
            lane.confidence,
        )[: len(columns)]
        for lane in answer.candidate_lanes
    ]
    click.echo(table(rows, columns))
    app.note(_NEXT[answer.routing_decision])
