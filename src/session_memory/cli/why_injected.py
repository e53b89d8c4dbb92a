"""`session-memory rules injected`: what a session was given at its start."""

from __future__ import annotations

import click

from session_memory.cli.app import App, json_option, long_output, pass_app
from session_memory.cli.output import emit_json, one_line
from session_memory.cli.session_argument import names
from session_memory.cli.store import reading
from session_memory.clock import iso


@click.command(name="why-injected")
@click.argument("session")
@json_option
@pass_app
@long_output
def command(app: App, session: str) -> None:
    """Show what a session was given, when, and which trial arm it is in.

    \b
    Example:
      session-memory rules injected 42
    """
    with reading(app) as store:
        stored = store.find_session(session)
        injections = store.live.injections(stored.flavor, stored.external_id)
    if app.json:
        emit_json({**names(stored), "injections": injections})
        return
    if not injections:
        click.echo("nothing was given to this session")
    for entry in injections:
        click.echo(f"{iso(entry.at)}  given: {one_line(', '.join(entry.given)) or '-'}")
        if entry.held:
            click.echo(f"{'':26}held back by its trial arm: {one_line(', '.join(entry.held))}")
