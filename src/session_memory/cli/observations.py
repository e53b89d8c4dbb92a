"""`session-memory observations`: what sessions said that is worth knowing later."""

from __future__ import annotations

import random
from typing import Any

import click

from session_memory.cli.app import App, json_option, pass_app
from session_memory.cli.output import emit_json, one_line
from session_memory.cli.session_argument import names, session_option
from session_memory.cli.store import reading
from session_memory.cli.times import Moment, to_ms
from session_memory.clock import iso
from session_memory.core.schema import Observation, ObservationType, Session
from session_memory.recall.scope import find_project
from session_memory.store.port import ObservationQuery

TYPES: tuple[ObservationType, ...] = ObservationType.__args__


@click.command(name="observations")
@session_option("Only of this session")
@click.option("--project", metavar="KEY", help="Only of this project.")
@click.option("--type", "types", type=click.Choice(TYPES), multiple=True, help="Repeatable.")
@click.option("--since", type=Moment(), help="Said at or after: a date, time or span (7d).")
@click.option("--limit", type=click.IntRange(1), default=50, show_default=True)
@click.option("--sample", type=click.IntRange(1), metavar="N", help="N of them, at random.")
@click.option("--seed", type=int, default=0, show_default=True, help="Which sample.")
@click.option("--all", "excluded", is_flag=True, help="Also those of low value or superseded.")
@json_option
@pass_app
def command(
    app: App, session: str | None, since: str | None, sample: int | None, **wanted: Any
) -> None:
    """List what was asked, ruled, decided, planned and done, oldest first.

    \b
    Examples:
      session-memory observations --project app --type pending_item
      session-memory observations --sample 50 --seed 1
    """
    seed, limit = int(wanted.pop("seed")), int(wanted.pop("limit"))
    with reading(app) as store:
        if wanted["project"] is not None:
            find_project(store.projects(), wanted["project"])
        query = ObservationQuery(
            session=None if session is None else store.find_session(session).id,
            since=to_ms(since, app.clock()),
            limit=None if sample else limit,
            **wanted,
        )
        found = store.observations(query)
        if sample:
            found = _drawn(found, sample, seed)
        sessions = {number: store.session(number) for number in {one.session for one in found}}
    if app.json:
        emit_json({"observations": [_row(one, sessions[one.session]) for one in found]})
        return
    for one in found:
        click.echo(_line(one))


def _drawn(found: list[Observation], count: int, seed: int) -> list[Observation]:
    """The same sample for the same content, whatever order and ids the store has."""
    ordered = sorted(found, key=lambda one: one.hash)
    chosen = random.Random(seed).sample(ordered, min(count, len(ordered)))
    return sorted(chosen, key=lambda one: (one.at or 0, one.hash))


def _row(one: Observation, session: Session) -> dict[str, object]:
    return {
        **names(session),
        "event": one.event,
        "type": one.type,
        "status": one.status,
        "text": one.text,
        "importance": one.importance,
        "origin": one.origin,
        "source": one.source,
        "at": iso(one.at),
        "hash": one.hash,
    }


def _line(one: Observation) -> str:
    when = (iso(one.at) or "-")[:16]
    return f"{when:<16}  {one.session:>5}  {one.type:<16}  {one_line(one.text)}"
