"""`session-memory search`: what was said, in any session of any agent."""

from __future__ import annotations

from itertools import groupby
from typing import Any, get_args

import click

from session_memory.cli.app import App, json_option, pass_app
from session_memory.cli.output import emit_json, one_line, safe
from session_memory.cli.recall_options import recalling, scope_of
from session_memory.cli.session_argument import named, session_option, titled
from session_memory.cli.times import Moment, to_ms
from session_memory.core.schema import EventKind
from session_memory.errors import NotFound
from session_memory.recall.event_search import EventHit
from session_memory.recall.requests import SearchRequest
from session_memory.store.port import Store

KINDS = get_args(EventKind)
TEXT_CHARS = 2_000


@click.command()
@click.argument("query", nargs=-1)
@click.option("--project", metavar="KEY", help="Only this project.")
@session_option()
@click.option("--agent", "flavor", metavar="NAME", help="Only sessions of this agent.")
@click.option("--kind", "kinds", multiple=True, type=click.Choice(KINDS), help="Only such events.")
@click.option("--tool", metavar="NAME", help="Only calls of this tool, and what came back.")
@click.option("--file", "file", metavar="PART", help="Only events that name such a path.")
@click.option("--since", type=Moment(), help="Not before: 2026-03-01, or 7d, 12h.")
@click.option("--until", type=Moment(), help="Before: 2026-03-08, or 1d.")
@click.option("--errors", "errors_only", is_flag=True, help="Only what failed.")
@click.option("--context", "around", metavar="N", type=click.IntRange(0, 50), default=0,
              help="Show so many turns before and after each event.")  # fmt: skip
@click.option("--limit", type=int, default=10, show_default=True, help="At most 50.")
@json_option
@pass_app
def command(app: App, query: tuple[str, ...], around: int, **wanted: Any) -> None:
    """Find what was said or run, by its words (mem_search); without words, what is newest.

    Words are words: no operator or quote needs care. Those found in every place come last.
    A filter holds for events and for what was observed alike: an observation counts as the event
    it was read from.

    \b
    Examples:
      session-memory search flaky checkout test
      session-memory search --errors --since 7d "ModuleNotFoundError"
      session-memory search --file src/app.py --context 2 retry --json
    """
    with recalling(app) as (recall, store):
        request = _request(app, store, " ".join(query), wanted)
        answer = recall.search(request)
        if app.json:
            emit_json(answer)
            return
        for item in answer.items:
            when = (item.updated_at or "")[:10]
            click.echo(f"{when}  {item.session_id}  {item.type}: {safe(item.summary)}")
        for session, hits in groupby(_grouped(answer.events), key=lambda hit: hit.session_id):
            _echo_session(store, session, list(hits), around)
    if not answer.items and not answer.events:
        app.note("nothing found")


def _request(app: App, store: Store, query: str, wanted: dict[str, Any]) -> SearchRequest:
    project, session = wanted.pop("project"), wanted.pop("session")
    for name in ("since", "until"):
        wanted[name] = to_ms(wanted[name], app.clock())
    if session is not None:
        scope = scope_of(store, project, session)
        return SearchRequest(query, scope.project_key, scope.session_id, **wanted)
    return SearchRequest(query, project, **wanted)


def _grouped(hits: tuple[EventHit, ...]) -> list[EventHit]:
    """Hits of one session together, sessions in order of their best."""
    order = {session: n for n, session in enumerate(dict.fromkeys(h.session_id for h in hits))}
    return sorted(hits, key=lambda hit: order[hit.session_id])


def _echo_session(store: Store, session_id: int, hits: list[EventHit], around: int) -> None:
    session = store.session(session_id)
    click.echo(f"\n{named(session)}  {one_line(titled(session)[:70])}")
    for hit in hits:
        times = f" ({hit.duplicate_count} times)" if hit.duplicate_count > 1 else ""
        click.echo(f"  {(hit.at or '')[:16]}  {hit.kind}: {safe(hit.snippet)}{times}")
        for line in _turns_around(store, hit, around) if around else ():
            click.echo(f"    | {line}")


def _turns_around(store: Store, hit: EventHit, around: int) -> list[str]:
    events = list(store.events(hit.session_id))
    turns = [
        e for e in events if e.kind in ("user_prompt", "assistant_text") or e.id == hit.event_id
    ]
    place = next((n for n, event in enumerate(turns) if event.id == hit.event_id), None)
    if place is None:
        return []
    shown: list[str] = []
    for event in turns[max(0, place - around) : place + around + 1]:
        try:
            text = store.text(event)[:TEXT_CHARS]
        except NotFound:
            continue
        shown += [f"{event.kind}: {line}" for line in safe(text).splitlines()[:12]]
    return shown
