"""`session-memory sessions`: the captured sessions, newest first."""

from __future__ import annotations

import click

from session_memory.cli.app import App, json_option, long_output, pass_app
from session_memory.cli.options import option
from session_memory.cli.output import Column, Meaning, echo_more, emit_json, human_time, table
from session_memory.cli.store import reading
from session_memory.cli.times import Moment, to_ms
from session_memory.clock import iso
from session_memory.core.digest import title_of
from session_memory.core.schema import Outcome, Session
from session_memory.recall.scope import check_agent, find_project
from session_memory.store.port import SessionQuery


def _outcome_meaning(outcome: str) -> Meaning | None:
    meanings: dict[str, Meaning] = {"success": "ok", "partial": "warn", "fail": "error"}
    return meanings.get(outcome, "dim")


_COLUMNS = (
    Column("session"),
    Column("ended", meaning="dim"),
    Column("agent", drop=5),
    Column("project", drop=6),
    Column("outcome", drop=4, meaning=_outcome_meaning),
    Column("events", drop=2),
    Column("usd", drop=3),
    Column("id", drop=1, meaning="dim"),
    Column("title", folds=True),
)


@click.command(name="sessions")
@option("--agent", "flavor", metavar="NAME", help="Only this agent's, such as claude.")
@option("--project", metavar="KEY", help="Only of this project.")
@option("--since", type=Moment(), help="Ended at or after: a date, time or span (7d).")
@option("--until", type=Moment(), help="Started before.")
@option("--outcome", type=click.Choice(["success", "partial", "fail", "uncertain"]))
@option("--main-only", is_flag=True, help="Leave sub-agents out.")
@option("--limit", type=click.IntRange(1), default=20, show_default=True)
@option("--all", "everything", is_flag=True, help="All of them, whatever --limit says.")
@json_option
@pass_app
@long_output
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
    everything: bool,
) -> None:
    """List captured sessions, newest first; `session` is the number every command takes.

    -v shows exact times and whole ids. JSON is limited by --limit too, unless --all is given.

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
        limit=limit if app.json and not everything else None,  # else the rest is counted
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
    shown = sessions if everything else sessions[:limit]
    click.echo(table([_row(session, outcomes.get(session.id), app) for session in shown], _COLUMNS))
    echo_more(len(sessions) - len(shown))


def _row(session: Session, outcome: str | None, app: App) -> tuple[object, ...]:
    name, _, agent = session.external_id.partition(":")
    short = f"{name[:8]}:{agent[:8]}" if agent else name[:13]
    dollars = None if session.cost.usd is None else f"{session.cost.usd:,.2f}"
    return (
        str(session.id),
        (iso(session.ended_at) or "-")
        if app.verbosity
        else human_time(session.ended_at, app.clock()),
        session.flavor,
        session.project_key,
        outcome,
        session.event_count,
        dollars,
        session.external_id if app.verbosity else short,
        title_of(session),
    )
