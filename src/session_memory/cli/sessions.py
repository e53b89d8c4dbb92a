"""`session-memory sessions`: the captured sessions, newest first."""

from __future__ import annotations

import click

from session_memory.cli.app import App, json_option, pass_app
from session_memory.cli.output import emit_json, table
from session_memory.cli.session_argument import titled
from session_memory.cli.store import reading
from session_memory.cli.times import Moment, to_ms
from session_memory.clock import iso
from session_memory.core.schema import Outcome, Session
from session_memory.recall.scope import check_agent, find_project
from session_memory.store.port import SessionQuery


@click.command(name="sessions")
@click.option("--flavor", metavar="NAME", help="Only this agent's, such as claude.")
@click.option("--project", metavar="KEY", help="Only of this project.")
@click.option("--since", type=Moment(), help="Ended at or after: a date, time or span (7d).")
@click.option("--until", type=Moment(), help="Started before.")
@click.option("--outcome", type=click.Choice(["success", "partial", "fail", "uncertain"]))
@click.option("--main-only", is_flag=True, help="Leave sub-agents out.")
@click.option("--limit", type=click.IntRange(1), default=20, show_default=True)
@json_option
@pass_app
def command(
    app: App,
    *,
    flavor: str | None,
    project: str | None,
    since: str | None,
    until: str | None,
    outcome: Outcome | None,
    main_only: bool,
    limit: int,
) -> None:
    """List captured sessions, newest first; `session` is the number every command takes.

    \b
    Examples:
      session-memory sessions --since 7d
      session-memory sessions --project app --outcome fail --json
    """
    now = app.clock()
    query = SessionQuery(
        flavor=flavor,
        project=project,
        since=to_ms(since, now),
        until=to_ms(until, now),
        outcome=outcome,
        include_subagents=not main_only,
        limit=limit,
    )
    with reading(app) as store:
        check_agent(store, flavor)
        if project is not None:
            find_project(store.projects(), project)
        sessions = store.sessions(query)
        outcomes = store.outcomes()
    if app.json:
        emit_json(
            {"sessions": [{"session": s, "outcome": outcomes.get(s.id)} for s in sessions]},
        )
        return
    rows = [_row(session, outcomes.get(session.id)) for session in sessions]
    headers = ("session", "id", "flavor", "project", "ended", "events", "outcome", "usd", "title")
    click.echo(table(rows, headers))


def _row(session: Session, outcome: str | None) -> tuple[object, ...]:
    name, _, agent = session.external_id.partition(":")
    dollars = None if session.cost.usd is None else f"{session.cost.usd:.2f}"
    return (
        session.id,
        f"{name[:8]}:{agent[:8]}" if agent else name[:13],
        session.flavor,
        session.project_key,
        (iso(session.ended_at) or "-")[:16],
        session.event_count,
        outcome,
        dollars,
        titled(session)[:60],
    )
