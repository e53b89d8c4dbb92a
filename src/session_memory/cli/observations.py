"""`session-memory project observations`: requests, constraints, decisions and plans."""

from __future__ import annotations

import random

import click

from session_memory.cli.app import App, json_option, long_output, pass_app
from session_memory.cli.options import option
from session_memory.cli.output import columns, echo_more, emit_json, hanging, one_line, paint
from session_memory.cli.session_argument import names, session_option
from session_memory.cli.store import reading
from session_memory.cli.times import Moment, to_ms
from session_memory.clock import iso
from session_memory.core.schema import ObservationType, Session
from session_memory.recall.observations import ShownObservation, shown_observations
from session_memory.recall.scope import find_project
from session_memory.store.port import ObservationQuery

TYPES: tuple[ObservationType, ...] = ObservationType.__args__


@click.command(name="observations")
@session_option("Only of this session")
@option("--project", metavar="KEY", help="Only of this project.")
@option("--type", "types", type=click.Choice(TYPES), multiple=True, help="Repeatable.")
@option("--since", type=Moment(), help="Said at or after: a date, time or span (7d).")
@option("--limit", type=click.IntRange(1), default=50, show_default=True, help="The newest N.")
@option("--sample", type=click.IntRange(1), metavar="N", help="A random sample of N.")
@option("--seed", type=int, default=0, show_default=True, help="Which sample.")
@option("--all", "excluded", is_flag=True, help="Also those left out, each with why.")
@json_option
@pass_app
@long_output
def command(
    app: App,
    *,
    session: str | None,
    project: str | None,
    types: tuple[ObservationType, ...],
    since: str | None,
    limit: int,
    sample: int | None,
    seed: int,
    excluded: bool,
) -> None:
    """List requests, constraints, decisions, plans and completed work, oldest first.

    What stands in brackets behind a statement says what it rests on.

    \b
    Examples:
      session-memory project observations --project app --type pending_item
      session-memory project observations --sample 50 --seed 1
    """
    with reading(app) as store:
        if project is not None:
            find_project(store.projects(), project)
        query = ObservationQuery(
            session=None if session is None else store.find_session(session).id,
            project=project,
            types=types,
            since=to_ms(since, app.clock()),
            excluded=True,
        )
        matching = shown_observations(store, query)
        observations = [each for each in matching if excluded or each.left_out is None]
        hidden = len(matching) - len(observations)
        count = len(observations)
        observations = observations[-limit:] if not sample else _sample(observations, sample, seed)
        numbers = {each.observation.session for each in observations}
        sessions = {number: store.session(number) for number in numbers}
    if app.json:
        rows = [_row(each, sessions[each.observation.session]) for each in observations]
        emit_json({"observations": rows})
        return
    if not observations:
        app.note("no observation of this kind is known")
    for each in observations:
        click.echo(_shown(each))
    if not sample:
        echo_more(count - len(observations), f"--limit {count}")
    if hidden:
        click.echo(f"{hidden} more left out: --all shows them and why", err=True)


def _sample(observations: list[ShownObservation], count: int, seed: int) -> list[ShownObservation]:
    """The same sample for the same content, whatever order and ids the store has."""
    ordered = sorted(observations, key=lambda each: each.observation.hash)
    sample = random.Random(seed).sample(ordered, min(count, len(ordered)))
    return sorted(sample, key=lambda each: (each.observation.at or 0, each.observation.hash))


def _row(each: ShownObservation, session: Session) -> dict[str, object]:
    observation, rule = each.observation, each.rule
    return {
        **names(session),
        "event": observation.event,
        "type": observation.type,
        "status": observation.status,
        "text": _named(each),
        "importance": observation.importance,
        "origin": observation.origin,
        "source": observation.source,
        "at": iso(observation.at),
        "hash": observation.hash,
        "intent": None if rule is None else rule.intent,
        "sure": each.sure,
        "times": 1 if rule is None else rule.times,
        "sessions": 1 if rule is None else rule.sessions,
        "left_out": each.left_out,
    }


def _shown(each: ShownObservation) -> str:
    """One line in a pipe; at a terminal the text stands below, where it has room."""
    if columns() is None:
        return f"{_lead(each)}  {_text(each)}"
    return "\n".join((paint(_lead(each), "dim"), *hanging("    ", _text(each), columns())))


def _lead(each: ShownObservation) -> str:
    observation = each.observation
    when = (iso(observation.at) or "-")[:16].replace("T", " ")
    return f"{when:<16}  {observation.session:>5}  {observation.type:<16}"


def _text(each: ShownObservation) -> str:
    text = one_line(_named(each))
    if each.left_out:
        text += f"  [left out: {each.left_out}]"
    elif each.rule is not None:
        text += f"  ({each.sure})"
    return text


def _named(each: ShownObservation) -> str:
    """Its words, after the name of the wish where users voice it in many words."""
    named = each.rule is not None and each.rule.intent
    return f"{named}: {each.observation.text}" if named else each.observation.text
