"""`session-memory mcp`: serve memory to an agent over the Model Context Protocol."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any, cast

import click

from session_memory.cli.app import App, pass_app
from session_memory.core.text.safe_text import safe
from session_memory.file_names import name_to_text
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
@click.option("--http", is_flag=True, help="Serve HTTP on this machine, by token.")
@click.option("--host", default="127.0.0.1", show_default=True, help="A loopback address.")
@click.option("--port", type=click.IntRange(0, 65_535), default=37_771, show_default=True)
@click.option("--token-file", metavar="PATH", help="Take the token for HTTP from this file.")
@pass_app
def command(app: App, profile: str, read_only: bool, http: bool, **told: Any) -> None:
    """Serve memory on standard input and output, for an agent that starts this command.

    With --http a daemon serves the same tools at /mcp on a loopback address. Callers need a token;
    unless a file with one is given, it is made once, and the daemon says where it is.

    \b
    Examples:
      session-memory mcp
      session-memory mcp --profile minimal --read-only
      session-memory mcp --idle-timeout 0
      session-memory mcp --http --port 37771
    """
    idle: int | None = told["idle_timeout"]
    options = Options(
        profile=cast("Profile", profile),
        read_only=read_only,
        response_mode=cast("ResponseMode | None", told["response_mode"]),
        idle_seconds=0 if http else 300 if idle is None else idle,
    )
    runtime = Runtime(options, lambda: app.paths, app.clock, lambda: app.config.recall)
    reason = _http(app, runtime, told) if http else _stdio(app, runtime)
    _log(f"exit_reason={reason}")


def _stdio(app: App, runtime: Runtime) -> str:
    from session_memory.mcp.server import Place, Server
    from session_memory.mcp.stdio import serve

    return serve(Server(runtime, Place(app.environ, _directory()), _log), runtime)


def _directory() -> str:
    """Where the agent works; a directory that was removed belongs to no project."""
    try:
        return name_to_text(os.getcwd())
    except OSError:
        return os.sep


def _http(app: App, runtime: Runtime, told: dict[str, Any]) -> str:
    from session_memory.mcp.http import Listen, loopback, serve_http, token_file, token_of

    host = loopback(told["host"])
    given: str | None = told["token_file"]
    path = Path(given) if given else token_file(app.paths.state)
    token = token_of(path, make=given is None)
    _log(f"callers need the token in {path}")
    return serve_http(runtime, Listen(host, told["port"], token), _log)


def _log(text: str) -> None:
    print(f"session-memory mcp: {safe(text)}", file=sys.stderr, flush=True)
