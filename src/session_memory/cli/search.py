"""`session-memory search`: what was said, in any session of any agent."""

from __future__ import annotations

from itertools import groupby
from typing import get_args

import click

from session_memory.cli.app import App, json_option, long_output, pass_app
from session_memory.cli.options import option
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
from session_memory.cli.team_answers import echo_team_hits, with_team
from session_memory.cli.times import Moment, to_ms
from session_memory.core.digest import title_of
from session_memory.core.event_ids import event_name
from session_memory.core.schema import EventKind
from session_memory.errors import NotFound
from session_memory.recall.requests import SearchRequest
from session_memory.recall.search import FoundItem, search
from session_memory.store.port import SessionReader

KINDS = get_args(EventKind)
TEXT_CHARS = 2_000
_SPOKEN = {"user_prompt": "you", "assistant_text": "agent"}
"""Kinds of events as one would say them; a pipe gets the names that `--kind` takes."""


# Words that look like options are words: `search git commit --no-verify`.
@click.command(context_settings={"ignore_unknown_options": True})
@click.argument("query", nargs=-1, type=click.UNPROCESSED)
@option("--project", metavar="KEY", help="Only this project.")
@session_option()
@option("--agent", "flavor", metavar="NAME", help="Only sessions of this agent.")
@option(
    "--kind", "kinds", multiple=True, type=click.Choice(KINDS), help="Only events of this kind."
)
@option("--tool", metavar="NAME", help="Only calls of this tool and their results.")
@option(
    "--file",
    "file",
    metavar="PART",
    help="Only events that mention such a path; one that nothing mentions is an error.",
)
@option("--since", type=Moment(), help="Not before: 2026-03-01, or 7d, 12h.")
@option("--until", type=Moment(), help="Before: 2026-03-08, or 1d.")
@option("--errors", "errors_only", is_flag=True, help="Only what failed.")
@option("--context", "around", metavar="N", type=click.IntRange(0, 50), default=0,
              help="Show N turns before and after each event.")  # fmt: skip
@option("--limit", type=click.IntRange(1), default=10, show_default=True, help="At most 50.")
@option("--cursor", metavar="N", type=click.IntRange(0),
              help="The next page: the number that the last page printed.")  # fmt: skip
@option("--team", is_flag=True, help="Also ask your team's hub; shown below your own.")
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
    cursor: int | None,
    flavor: str | None,
    kinds: tuple[EventKind, ...],
    tool: str | None,
    file: str | None,
    errors_only: bool,
    team: bool,
) -> None:
    """Find what was said or run, by its words (mem_search); without words, what is newest.

    What fits best comes first, whatever it is: a prompt, an answer, a command, an error, an edit,
    an observation made of them, an error with what cured it, a line of MEMORY.md or of an article.
    Quotes and operators have no special meaning, and neither has a dash before a word that is no
    option of this command. Rare words count more than common ones. Filters apply to everything: an
    observation counts as the event it was read from, and a line of a file fits none but --project.
    Every line names what was found, such as 42:17: `show 42:17` shows it with what came before and
    after. -v adds the score of each.

    \b
    Examples:
      session-memory search flaky checkout test
      session-memory search --errors --since 7d "ModuleNotFoundError"
      session-memory search --file src/app.py --context 2 retry --json
      session-memory search git commit --no-verify
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
            cursor=None if cursor is None else str(cursor),
        )
        answer = search(context, request)
        if app.json:
            emit_json(with_team(app, answer, request) if team else answer)
            return
        # In the order of the answer: a session is named wherever the one before was another.
        for index, (heading, items) in enumerate(groupby(answer.items, key=_heading_of)):
            if index:
                click.echo()
            if isinstance(heading, int):
                _echo_session(store, heading)
            else:
                click.echo("\n".join(hanging("", heading, columns(), "strong")))
            for item in items:
                _echo_item(app, store, item, around)
    if team:
        echo_team_hits(app, request)
    if not answer.items:
        app.note("nothing found in your own sessions" if team else "nothing found")
    elif isinstance(answer.next_cursor, str) and not app.quiet:
        more = f"--cursor {answer.next_cursor} shows the next page"
        which = "best" if query else "newest"
        hint = f"the {answer.count} {which}; {more}, --limit N more at once"
        click.echo("\n".join(hanging("", hint, columns(), "dim")))


def _heading_of(item: FoundItem) -> int | str:
    """What a result is printed under: its session, or the memory that it is a line of."""
    is_line = item.memory_kind in ("memory", "article")
    if not is_line and item.session_id is not None:
        return item.session_id
    page = "knowledge" if item.memory_kind == "article" else "MEMORY.md"
    return f"{page} of {item.project_key}" if item.project_key else page


def _echo_session(store: SessionReader, number: int) -> None:
    session = store.session(number)
    title = one_line(title_of(session))
    if columns() is None:
        click.echo(f"{named(session)}  {title}")
    else:
        click.echo("\n".join(hanging("", title or "(no title)", columns(), "strong")))
        click.echo("\n".join(hanging("", named(session), columns(), "dim")))


def _echo_item(app: App, store: SessionReader, item: FoundItem, around: int) -> None:
    count = item.duplicate_count
    times = f" ({count} times)" if isinstance(count, int) and count > 1 else ""
    shown_at = (item.updated_at or "")[:16].replace("T", " ")
    when = paint(f"{shown_at}  {_name(item)}", "dim")
    word = item.type if columns() is None else _SPOKEN.get(item.type, item.type.replace("_", " "))
    kind = paint(f"{word}:", "error" if item.type == "error" else None)
    if app.verbosity:
        kind = f"{kind} (score {item.score})"
    snippet = f"{one_line(item.summary)}{times}"
    if columns() is None:  # one line each, for grep
        click.echo(f"  {when}  {kind} {snippet}")
    else:
        click.echo(f"  {when}  {kind}\n" + fit(f"    {snippet}"))
    if isinstance(item.cure, str):
        click.echo(fit(f"    cured by: {one_line(item.cure)}"))
    for line in _turns_around(store, item, around) if around else ():
        click.echo(fit(f"    | {line}"))


def _name(item: FoundItem) -> str:
    """What `show` takes to jump there."""
    is_line = item.memory_kind in ("memory", "article") or item.turn_id is None
    return item.id if is_line or item.turn_id is None else event_name(item.turn_id)


def _turns_around(store: SessionReader, hit: FoundItem, around: int) -> list[str]:
    if hit.session_id is None:
        return []
    events = list(store.events(hit.session_id))
    turns = [
        e for e in events if e.kind in ("user_prompt", "assistant_text") or e.id == hit.turn_id
    ]
    index = next((n for n, event in enumerate(turns) if event.id == hit.turn_id), None)
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
