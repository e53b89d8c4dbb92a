"""`session-memory store dump`: the canonical content, for comparing two stores."""

from __future__ import annotations

import click

from session_memory.cli.app import App, json_option, pass_app
from session_memory.cli.output import to_json
from session_memory.cli.store import reading


@click.command(name="dump")
@json_option
@pass_app
def command(app: App) -> None:
    """Print the store in canonical form: one line of JSON per session.

    Two stores that read the same logs print the same, in whatever order the logs were read.

    \b
    Examples:
      session-memory store dump
      session-memory store dump | sha256sum
    """
    with reading(app) as store:
        for entry in store.dump():
            click.echo(to_json(entry))
