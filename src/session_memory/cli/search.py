"""`session-memory search`: what was said, in any session of any agent."""

from __future__ import annotations

from itertools import groupby
from typing import get_args

import click

from session_memory.cli.app import App, json_option, long_output, pass_app
from session_memory.cli.output import (
    columns,
    emit_json,
    fit,
    hanging,
    one_line,
    paint,
    safe,
)
from session_memory.cli.recall_options import open_recall, scope_request
from session_memory.cli.session_argument import named, session_option
from session_memory.cli.times import Moment, to_ms
from session_memory.core.digest import title_of
from session_memory.core.schema import EventKind
from session_memory.errors import NotFound
from session_memory.recall.event_search import EventHit
from session_memory.recall.requests import SearchRequest
from session_memory.recall.search import search
from session_memory.store.port import SessionReader

KINDS = get_args(EventKind)
TEXT_CHARS = 2_000
MOST = 50
_SPOKEN = {"user_prompt": "you", "assistant_text": "agent"}
"""Kinds of events as one would say them; a pipe gets the names that `--kind` takes."""


@click.command()
@click.argument("query", nargs=-1)
@click.option("--project", metavar="KEY", help="Only this project.")
@session_option()
@click.option("--agent", "flavor", metavar="NAME", help="Only sessions of this agent.")
@click.option(
    "--kind", "kinds", multiple=True, type=click.Choice(KINDS), help="Only events of this kind."
)
@click.option("--tool", metavar="NAME", help="Only calls of this tool and their results.")
@click.option("--file", "file", metavar="PART", help="Only events that mention such a path.")
@click.option("--since", type=Moment(), help="Not before: 2026-03-01, or 7d, 12h.")
@click.option("--until", type=Moment(), help="Before: 2026-03-08, or 1d.")
@click.option("--errors", "errors_only", is_flag=True, help="Only what failed.")
@click.option("--context", "around", metavar="N", type=click.IntRange(0, 50), default=0,
              help="Show N turns before and after each event.")  # fmt: skip
@click.option("--limit", type=int, default=10, show_default=True, help="At most 50.")
@json_option
@pass_app
@long_output
def command(
    app: App,
    query: tuple[str, ...],
    *,
    project: str | None,
    session: str | None,
    since: str | None,
    until: str | None,
    around: int,
    limit: int,
    flavor: str | None,
    kinds: tuple[EventKind, ...],
    tool: str | None,
    file: str | None,
    errors_only: bool,
) -> None:
    """Find what was said or run, by its words (mem_search); without words, what is newest.

    Quotes and operators have no special meaning. Rare words count more than common ones. Filters
    apply to events and observations alike: an observation counts as the event it was read from. -v
    adds the number and score of each event.

    \b
    Examples:
      session-memory search flaky checkout test
      session-memory search --errors --since 7d "ModuleNotFoundError"
      session-memory search --file src/app.py --context 2 retry --json
    """
    with open_recall(app) as (context, store):
        scope = None if session is None else scope_request(store, project, session)
        request = SearchRequest(
            query=" ".join(query),
            project_key=scope.project_key if scope else project,
            session_id=scope.session_id if scope else None,
            limit=limit,
            flavor=flavor,
            kinds=kinds,
            tool=tool,
            file=file,
            since=to_ms(since, app.clock()),
            until=to_ms(until, app.clock()),
            errors_only=errors_only,
        )
        answer = search(context, request)
        if app.json:
            emit_json(answer)
            return
        for item in answer.items:
            lead = f"{paint((item.updated_at or '')[:10], 'dim')}  {item.session_id}  {item.type}: "
            click.echo("\n".join(hanging(lead, one_line(item.summary), columns())))
        grouped = groupby(_grouped(answer.events), key=lambda hit: hit.session_id)
        for at, (_, hits) in enumerate(grouped):
            if at or answer.items:
                click.echo()
            _echo_session(app, store, list(hits), around)
    if not answer.items and not answer.events:
        app.note("nothing found")
    elif len(answer.events) >= limit < MOST and not app.quiet:
        click.echo(paint(f"the {limit} best; --limit N shows more, up to {MOST}", "dim"))


def _grouped(hits: tuple[EventHit, ...]) -> list[EventHit]:
    """Hits of one session together, sessions in order of their best hit."""
    order = {session: n for n, session in enumerate(dict.fromkeys(h.session_id for h in hits))}
    return sorted(hits, key=lambda hit: order[hit.session_id])


def _echo_session(app: App, store: SessionReader, hits: list[EventHit], around: int) -> None:
    session = store.session(hits[0].session_id)
    title = one_line(title_of(session))
    if columns() is None:
        click.echo(f"{named(session)}  {title}")
    else:
        click.echo("\n".join(hanging("", title or "(no title)", columns(), "strong")))
        click.echo("\n".join(hanging("", named(session), columns(), "dim")))
    for hit in hits:
        times = f" ({hit.duplicate_count} times)" if hit.duplicate_count > 1 else ""
        when = paint((hit.at or "")[:16].replace("T", " "), "dim")
        word = hit.kind if columns() is None else _SPOKEN.get(hit.kind, hit.kind.replace("_", " "))
        kind = paint(f"{word}:", "error" if hit.kind == "error" else None)
        if app.verbosity:
            kind = f"{kind} (event {hit.event_id}, score {hit.score:.2f})"
        snippet = f"{one_line(hit.snippet)}{times}"
        if columns() is None:  # one line each, for grep
            click.echo(f"  {when}  {kind} {snippet}")
        else:
            click.echo(f"  {when}  {kind}\n" + fit(f"    {snippet}"))
        for line in _turns_around(store, hit, around) if around else ():
            click.echo(fit(f"    | {line}"))


def _turns_around(store: SessionReader, hit: EventHit, around: int) -> list[str]:
    events = list(store.events(hit.session_id))
    turns = [
        e for e in events if e.kind in ("user_prompt", "assistant_text") or e.id == hit.event_id
    ]
    index = next((n for n, event in enumerate(turns) if event.id == hit.event_id), None)
    if index is None:
        return []
    shown: list[str] = []
    for event in turns[max(0, index - around) : index + around + 1]:
        try:
            text = store.text(event)[:TEXT_CHARS]
        except NotFound:
            continue
        shown += [f"{event.kind}: {line}" for line in safe(text).splitlines()[:12]]
    return shown
