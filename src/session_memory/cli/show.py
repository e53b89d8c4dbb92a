"""`session-memory show`: one session as a readable transcript, or event by event."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

import click
import msgspec

from session_memory.cli.app import App, json_option, long_output, pass_app
from session_memory.cli.options import option
from session_memory.cli.output import columns, emit_json, fit, hanging, one_line, safe
from session_memory.cli.session_argument import named
from session_memory.cli.store import reading
from session_memory.clock import iso
from session_memory.core.event_ids import event_id, event_name, named_event, split
from session_memory.core.schema import Session, SessionEvent
from session_memory.errors import NotFound
from session_memory.recall.memory_lines import named_line
from session_memory.recall.page_line import PageLine
from session_memory.redact import render
from session_memory.store.port import Store

SHORT_LINES, SHORT_CHARS = 12, 1200
AROUND = 4
"""Events shown before and after one that was asked for."""
_OBSERVATION = re.compile("[0-9a-f]{24}")
_IN_TRANSCRIPT = frozenset({"user_prompt", "assistant_text", "tool_call", "tool_result", "error"})


@click.command(name="show")
@click.argument("session")
@option("--digest", "only_digest", is_flag=True, help="Only the digest: outcome, checks, cures.")
@option("--events", "as_events", is_flag=True, help="One line for each event, every kind.")
@option("--full", is_flag=True, help="Do not shorten outputs.")
@option("--history", is_flag=True, help="Events that the log lost when it was rewritten.")
@json_option
@pass_app
@long_output
def command(
    app: App, session: str, *, only_digest: bool, as_events: bool, full: bool, history: bool
) -> None:
    """Show one session.

    What `search` found is shown with what came before and after it: SESSION is then the name on
    its line, such as 42:17. A line of MEMORY.md (m1f6a2c04b8d9) is shown with what it rests on, and
    one of an article (k1f6a2c04b8d9) with its file.

    SESSION, here and in every command, is the number that lists print, or the id its agent gave
    it: whole, or a prefix that only one session has. Digits alone are always the number: put `id:`,
    or the agent and a colon, before an id that is digits alone.

    \b
    Examples:
      session-memory show 42                a readable transcript
      session-memory show 42:17             one event, and those around it
      session-memory show 42 --digest       what is kept when its raw text is evicted
      session-memory show 1f6a2c --events   everything, one line each
      session-memory show id:20260301       by an id that is digits alone
    """
    if only_digest:
        from session_memory.cli.digest import show_digest

        show_digest(app, session)
        return
    with reading(app) as store:
        is_local = app.hub_url is None
        line = is_local and named_line(app.paths.data, session, app.config.journal.vault)
        if line:
            _show_line(app, store, line)
            return
        event_id = _event(store, session)
        stored = store.find_session(session if event_id is None else str(split(event_id)[0]))
        if history:
            events = store.superseded_events(stored.id)
        else:
            events = store.events(stored.id, texts=True)
        if event_id is not None:
            events = _around(list(events), event_id)
        if app.json:
            emit_json({"session": stored, "events": [_rendered(event) for event in events]})
            return
        click.echo("\n".join(_header(stored, verbose=app.verbosity > 0)))
        for line in _event_lines(events) if as_events else _transcript(events, full):
            click.echo(fit(line))


def _show_line(app: App, store: Store, line: PageLine) -> None:
    """A line of a file, the file it stands in, and the events it rests on."""
    events = store.scopes.events(list(line.events))
    if app.json:
        emit_json({"line": line.text, "file": str(line.file), "events": events})
        return
    click.echo(fit(one_line(line.text)))
    click.echo(fit(f"in {line.file}"))
    for event in events:
        try:
            text = event.command or store.text(event)
        except NotFound:
            text = "(its raw text was evicted)"
        click.echo(fit(f"{event_name(event.id)}  {event.kind}: {one_line(text[:SHORT_CHARS])}"))
    if not events and line.kind == "memory":
        click.echo("no event is cited: its user wrote it, or `project memory why` finds more")


def _event(store: Store, name: str) -> int | None:
    """The event that a line of `search` names, by its own name or by that of an observation."""
    event = named_event(name)
    if event is None and _OBSERVATION.fullmatch(name):
        observation = store.scopes.observation(name)
        if observation is not None:
            return observation.event or event_id(observation.session, 0)
    return event


def _around(events: list[SessionEvent], event_id: int) -> list[SessionEvent]:
    """An event and those next to it; raises where it is no longer stored."""
    spoken = [each for each in events if each.kind in _IN_TRANSCRIPT or each.id == event_id]
    index = next((n for n, each in enumerate(spoken) if each.id == event_id), None)
    if index is None:
        raise NotFound(
            f"event {event_name(event_id)} is not stored",
            hint=f"`session-memory show {split(event_id)[0]}` shows what is stored of its session",
        )
    return spoken[max(0, index - AROUND) : index + AROUND + 1]


def _rendered(event: SessionEvent) -> SessionEvent:
    return msgspec.structs.replace(
        event,
        text=render(event.text or ""),
        command=render(event.command) if event.command else event.command,
    )


def _header(session: Session, *, verbose: bool) -> list[str]:
    cost = session.cost
    dollars = f", {cost.usd:,.4f} USD" if cost.usd is not None else ""
    facts = [
        ("session", named(session)),
        ("title", session.title),
        ("project", session.project_key),
        ("cwd", session.cwd),
        ("branch", session.branch),
        ("parent", session.parent_external_id),
        ("source", "its parent's log" if session.metadata.get("from_parent") else None),
        ("forked from", session.forked_from),
        ("models", ", ".join(session.models)),
        ("client", session.client_version),
        ("time", _times(session)),
        ("cost", f"{cost.total_tokens:,} tokens{dollars}"),
        ("state", session.state if verbose else None),
    ]
    shown = [
        hanging(f"{name:<12}", one_line(str(value)), columns()) for name, value in facts if value
    ]
    return [*(line for lines in shown for line in lines), ""]


def _times(session: Session) -> str:
    moments = (session.started_at, session.ended_at)
    start, end = ((iso(at) or "?")[:19].replace("T", " ") for at in moments)
    stated = f"{start} to {end} UTC"
    by_file = session.metadata.get("time_source") == "file"
    return f"{stated} (of its file: the log holds no times)" if by_file else stated


def _transcript(events: Iterable[SessionEvent], full: bool) -> Iterator[str]:
    for event in events:
        if event.kind == "compaction":
            yield "--- the agent compacted its context here ---\n"
        elif event.kind in _IN_TRANSCRIPT and (event.text or event.command or event.is_unpaired):
            yield f"{_clock(event)} {_speaker(event)}{_mark(event)}  {event_name(event.id)}"
            yield _indented(_body(event), full) + "\n"


def _clock(event: SessionEvent) -> str:
    return (iso(event.at) or "")[11:19] or "--:--:--"


def _speaker(event: SessionEvent) -> str:
    if event.kind == "tool_call":
        return one_line(f"-> {event.tool or 'tool'}")
    if event.kind == "tool_result":
        exit_code = "" if event.exit_code is None else f" exit {event.exit_code}"
        return f"<- {'failed' if event.is_error else 'result'}{exit_code}"
    return {"user_prompt": "USER", "assistant_text": "AGENT"}.get(event.kind, event.kind)


def _mark(event: SessionEvent) -> str:
    marks = ("inherited" if event.inherited else "", "unpaired" if event.is_unpaired else "")
    shown = ", ".join(mark for mark in marks if mark)
    return f" ({shown})" if shown else ""


def _body(event: SessionEvent) -> str:
    if event.kind == "tool_call":
        return render(event.command or ", ".join(event.files) or event.text or "")
    return render(event.text or "")


def _indented(text: str, full: bool) -> str:
    text = safe(text.strip())
    if not full and len(text) > SHORT_CHARS:
        text = f"{text[:SHORT_CHARS]}\n[{len(text) - SHORT_CHARS} more characters; --full]"
    lines = text.split("\n")
    if not full and len(lines) > SHORT_LINES + 1:
        left_out = len(lines) - SHORT_LINES
        lines = [*lines[:SHORT_LINES], f"[{left_out} more lines; --full shows them]"]
    return "\n".join(f"    {line}" for line in lines)


def _event_lines(events: Iterable[SessionEvent]) -> Iterator[str]:
    for event in events:
        parts = (
            str(event.seq),
            iso(event.at) or "-",
            event.kind,
            event.origin,
            event.tool or event.label or "-",
            "error" if event.is_error else "",
            "" if event.exit_code is None else f"exit={event.exit_code}",
            "inherited" if event.inherited else "",
            "unpaired" if event.is_unpaired else "",
            one_line(_body(event))[:120],
        )
        yield one_line(" ".join(part for part in parts if part))
