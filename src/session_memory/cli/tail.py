"""`session-memory tail`: what agents do, all of them in one stream, as it is captured."""

from __future__ import annotations

import time
from collections.abc import Iterator

import click

from session_memory.cli.app import App, pass_app
from session_memory.cli.options import option
from session_memory.cli.output import one_line
from session_memory.cli.store import reading, sweep_context
from session_memory.clock import iso
from session_memory.core.schema import SessionEvent
from session_memory.errors import StoreLocked
from session_memory.recall.scope import check_agent
from session_memory.redact import render
from session_memory.store import store_exists
from session_memory.store.port import SessionReader
from session_memory.worker.sweep import sweep_and_mine

_SHOWN = {
    "user_prompt": "USER ",
    "assistant_text": "AGENT",
    "tool_call": "  -> ",
    "tool_result": "  <- ",
    "error": "ERROR",
}


@click.command(name="tail")
@option("--agent", "flavor", metavar="NAME", help="Only this agent.")
@option("--every", type=click.FloatRange(0.2), default=2.0, help="Seconds between checks.")
@option("--once", is_flag=True, help="Show what is new since the last sweep, then exit.")
@pass_app
def command(app: App, flavor: str | None, every: float, once: bool) -> None:
    """Follow live sessions of all agents in one readable stream. Stop it with Ctrl-C.

    \b
    Examples:
      session-memory tail
      session-memory tail --agent codex
    """
    context = sweep_context(app)
    heights = _stored(app) if once else None
    while True:
        try:
            sweep_and_mine(context, app.paths.last_sweep)
        except StoreLocked:
            app.note("another sweep is running; its results follow")
        with reading(app) as store:
            check_agent(store, flavor)
            new_heights = store.heights()
            if heights is None:
                heights = new_heights  # earlier events are not shown
                app.note("waiting for what agents do next; Ctrl-C ends this")
            for line in _new_lines(store, heights, new_heights, flavor):
                click.echo(line)
            heights = new_heights
        if once:
            return
        time.sleep(every)


def _stored(app: App) -> dict[int, int]:
    """What earlier sweeps captured of each session."""
    if not store_exists(app.paths.data):
        return {}
    with reading(app) as store:
        return store.heights()


def _new_lines(
    store: SessionReader, seen: dict[int, int], now: dict[int, int], flavor: str | None
) -> Iterator[str]:
    for session_id, height in now.items():
        before = seen.get(session_id, 0)
        if height <= before:
            continue
        session = store.session(session_id)
        if flavor is not None and session.flavor != flavor:
            continue
        name = f"{session.flavor} {session.id}"
        for event in store.events(session_id, texts=True):
            if event.seq >= before and event.kind in _SHOWN and not event.inherited:
                yield f"{(iso(event.at) or '')[11:19]:8} {name:<16} {_event_line(event)}"


def _event_line(event: SessionEvent) -> str:
    text = event.command or (event.text or "")
    mark = " failed:" if event.is_error else ""
    tool = f" {event.tool}:" if event.kind == "tool_call" and event.tool else ""
    return one_line(f"{_SHOWN[event.kind]}{tool}{mark} {render(text)}")[:200]
