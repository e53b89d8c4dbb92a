"""`session-memory fix`: what worked after an error like this one."""

from __future__ import annotations

import click
import msgspec

from session_memory.cli.app import App, json_option, pass_app
from session_memory.cli.output import emit_json, one_line
from session_memory.detect.fix import fix
from session_memory.detect.report import cure_sentence
from session_memory.errors import NotFound
from session_memory.store import open_store


@click.command(name="fix", context_settings={"ignore_unknown_options": True})
@click.argument("error", metavar="ERROR")
@json_option
@pass_app
def command(app: App, error: str) -> None:
    """Show which command fixed this error before, in how many sessions and with which agents.

    ERROR is the line with the error, or the whole output.

    \b
    Examples:
      session-memory fix "ModuleNotFoundError: No module named 'yaml'"
      session-memory fix "$(make 2>&1)"
    """
    now = app.clock()
    with open_store(str(app.paths.data), now) as store:
        answer = fix(store.patterns, error)
    if answer is None:
        raise NotFound("no session had an error like this one")
    if app.json:
        emit_json(msgspec.to_builtins(answer))
        return
    alike = "" if answer.exact else " (an error like it)"
    click.echo(f"after: {one_line(answer.problem)}{alike}")
    for cure in answer.cures:
        click.echo(cure_sentence(cure))
    seen = f"seen in {answer.sessions} sessions, {answer.frequency} times"
    if not answer.exact:
        click.echo(f"this very error was not met; {seen}: search for it to see what was done")
    elif not answer.cures:
        click.echo(f"never cured here: {seen}")
