"""What `--team` adds to an answer: other people's words, fenced, with their names."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING

import click
import msgspec

from session_memory.cli.app import App
from session_memory.cli.output import counted, emit_json, fit, one_line, to_json
from session_memory.core.text.safe_text import QUOTED, fence
from session_memory.errors import Refused

if TYPE_CHECKING:
    from session_memory.core.sharing.wire import Hit
    from session_memory.recall.requests import SearchRequest
    from session_memory.recall.search import SearchAnswer

HIT_CHARS = 400


def check_team(app: App) -> None:
    """Refuse where the user switched the lessons of others off, or belongs to no team."""
    from session_memory.team.membership import membership

    membership(app.paths.data)
    if not app.config.team.lessons:
        raise Refused("team.lessons is false: what others shared is not used")


def team_hits(app: App, request: SearchRequest) -> tuple[Hit, ...]:
    """What the hub finds of others."""
    from session_memory.team.search import search_team

    check_team(app)
    return search_team(app.paths.data, request)


def echo_team_hits(app: App, request: SearchRequest) -> None:
    """Print what the hub finds of others, as text that is nobody's instruction."""
    hits = team_hits(app, request)
    if not hits:
        app.note("nothing found in the team's memory")
        return
    lines: list[str] = []
    for hit in hits:
        of = f" of {hit.people} people" if hit.people > 1 else ""
        lines.append(f"{one_line(hit.author)}, {one_line(hit.project)}, {one_line(hit.kind)}{of}:")
        lines.append(f"  {one_line(hit.text[:HIT_CHARS])}")
    click.echo(fit("\n" + fence("\n".join(lines), secrets.token_hex(4), "from your team")))


def with_team(app: App, answer: SearchAnswer, request: SearchRequest) -> dict[str, object]:
    """Both answers in one object."""
    hits = [
        {
            "kind": hit.kind,
            "author": hit.author,
            "project": hit.project,
            "text": hit.text,
            "at": hit.at,
            "people": hit.people,
            "score": hit.score,
            "origin": QUOTED,
        }
        for hit in team_hits(app, request)
    ]
    return {**msgspec.to_builtins(answer), "team": hits}


def show_team_candidates(app: App, limit: int | None) -> None:
    """`rules detect --team`."""
    from session_memory.store import open_store
    from session_memory.team.evidence import team_detect
    from session_memory.team.membership import membership

    check_team(app)
    joined, now = membership(app.paths.data), app.clock()
    with open_store(str(app.paths.data), now) as store:
        team_candidates = team_detect(store.patterns, app.paths.data, joined, now)
    if app.json:
        rows = (
            {"people": each.people, **msgspec.to_builtins(each.candidate, str_keys=True)}
            for each in team_candidates
        )
        click.echo(f"[{','.join(to_json(row) for row in rows)}]")
        return
    shown = [each for each in team_candidates if not each.candidate.left_out][:limit]
    for each in shown:
        candidate = each.candidate
        text = candidate.rule or candidate.locus
        people = counted(candidate.sessions, "person", "people")
        names = ", ".join(map(one_line, each.people))
        click.echo(fit(f"{people} ({names}): {one_line(text)}"))
        for quote in candidate.quotes[:2]:
            click.echo(fit(f'    "{one_line(quote.text)}"'))
    if not shown:
        click.echo("nothing that several people of the team met")
    app.note(f"words of others are {QUOTED}; `session-memory rules add` writes a rule down")


def show_hub_rules(app: App, url: str) -> None:
    """`--store URL rules`: what members approved in the projects you share."""
    from session_memory.cli.hub_store import joined_hub
    from session_memory.core.sharing import wire
    from session_memory.store.remote_call import HubClient

    joined = joined_hub(app.own_paths, url)
    client = HubClient(joined.url, joined.token)
    try:
        rules = [
            shared
            for share in joined.shared
            for shared in client.get("/v1/rules", wire.Rules, project=share.project).items
        ]
    finally:
        client.close()
    if app.json:
        rows = [
            {"project": rule.project, "author": rule.author, "people": rule.people,
             "text": rule.item.text, "at": rule.item.at, "origin": QUOTED}
            for rule in rules
        ]  # fmt: skip
        emit_json({"rules": rows})
        return
    for rule in rules:
        people = counted(rule.people, "person", "people")
        where = f"{one_line(rule.author)}, {one_line(rule.project)}, approved by {people}"
        click.echo(fit(f"{one_line(rule.item.text)}\n    {where}"))
    if not rules:
        click.echo("nobody shared a rule in the projects you share")


def show_team_effects(app: App) -> None:
    """`rules measure --team`."""
    from session_memory.store.remote_call import HubClient
    from session_memory.team.effects import team_effects
    from session_memory.team.membership import membership

    check_team(app)
    joined = membership(app.paths.data)
    client = HubClient(joined.url, joined.token)
    try:
        effects = team_effects(app.paths.data, joined, client)
    finally:
        client.close()
    if app.json:
        emit_json({"rules": effects})
        return
    for each in effects:
        words = ", ".join(f"{verdict}: {count}" for verdict, count in each.verdicts.items())
        people = counted(each.people, "person", "people")
        click.echo(fit(f"sm-{each.pattern}  {one_line(each.text)}\n    {people}; {words}"))
    if not effects:
        click.echo("nobody else has measured a rule that you have")
