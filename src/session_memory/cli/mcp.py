"""`session-memory mcp`: serve memory to an agent over the Model Context Protocol."""

from __future__ import annotations

import os
import sys
from typing import cast

import click

from session_memory.cli.app import App, pass_app
from session_memory.core.safe_text import safe
from session_memory.mcp.runtime import Options, Runtime
from session_memory.mcp.tools import MODES, PROFILES, Profile, ResponseMode


@click.command(name="mcp")
@click.option(
    "--profile",
    type=click.Choice(PROFILES),
    default="standard",
    show_default=True,
    help="Which tools are offered: few, all that only read, or all.",
)
@click.option("--read-only", is_flag=True, help="Write nothing, not even that somebody asked.")
@click.option(
    "--response-mode",
    type=click.Choice(MODES),
    help="How much stands in the text of an answer; by default what the client needs.",
)
@click.option(
    "--idle-timeout",
    type=click.IntRange(0, 1_000_000),
    metavar="SECONDS",
    help="End after so long without a message; 0 is never. Default 300.",
)
@pass_app
def command(
    app: App, profile: str, read_only: bool, response_mode: str | None, idle_timeout: int | None
) -> None:
    """Serve memory on standard input and output, for an agent that starts this command.

    \b
    Examples:
      session-memory mcp
      session-memory mcp --profile minimal --read-only
      session-memory mcp --idle-timeout 0
    """
    from session_memory.mcp.server import Place, Server
    from session_memory.mcp.stdio import serve

    options = Options(
        profile=cast("Profile", profile),
        read_only=read_only,
        response_mode=cast("ResponseMode | None", response_mode),
        idle_seconds=300 if idle_timeout is None else idle_timeout,
    )
    runtime = Runtime(options, lambda: app.paths, app.clock)
    reason = serve(Server(runtime, Place(app.environ, os.getcwd()), _log), runtime)
    _log(f"exit_reason={reason}")


def _log(text: str) -> None:
    print(f"session-memory mcp: {safe(text)}", file=sys.stderr, flush=True)
