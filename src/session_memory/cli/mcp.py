"""`session-memory mcp`: serve memory to an agent over the Model Context Protocol."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from session_memory.cli.app import App, pass_app
from session_memory.cli.options import option
from session_memory.errors import Refused, UsageError
from session_memory.file_names import name_to_text
from session_memory.mcp.runtime import Options, Runtime, log_line
from session_memory.mcp.tools import MODES, PROFILES, Profile, ResponseMode

if TYPE_CHECKING:
    from collections.abc import Callable

    from session_memory.store.port import Store


@click.command(name="mcp")
@option(
    "--profile",
    type=click.Choice(PROFILES),
    default="standard",
    show_default=True,
    help="Which tools are offered: a few, all that only read, all, or what an agent needs.",
)
@option("--project", metavar="KEY", help="Answer for this project alone.")
@option(
    "--all-projects",
    is_flag=True,
    help="Answer for every project, also when started inside one.",
)
@option("--read-only", is_flag=True, help="Write nothing, not even a record of requests.")
@option(
    "--response-mode",
    type=click.Choice(MODES),
    help="How much text an answer contains; default: what the client needs.",
)
@option(
    "--idle-timeout",
    type=click.IntRange(0, 1_000_000),
    metavar="SECONDS",
    help="Exit after this long without a message; 0: never. Default: 300.",
)
@option(
    "--package", "in_package", is_flag=True, help="Offer nothing to an agent that init wired too."
)
@option("--http", is_flag=True, help="Serve HTTP on this machine, protected by a token.")
@option("--host", default="127.0.0.1", show_default=True, help="A loopback address.")
@option(
    "--port",
    type=click.IntRange(0, 65_535),
    default=37_771,
    show_default=True,
    help="The port for HTTP.",
)
@option("--token-file", metavar="PATH", help="Read the token for HTTP from this file.")
@pass_app
def command(
    app: App,
    *,
    profile: Profile,
    project: str | None,
    all_projects: bool,
    read_only: bool,
    response_mode: ResponseMode | None,
    idle_timeout: int | None,
    in_package: bool,
    http: bool,
    host: str,
    port: int,
    token_file: str | None,
) -> None:
    """Serve memory to the agent that starts this command, over standard input and output.

    Started inside a known project it answers for that project alone; --all-projects, or
    `recall.scope = "all"` in the configuration, opens it to every one.

    With `--store URL` before `mcp` it answers from the hub you joined, where
    `team.mcp = true` opened the team to agents, and writes nothing.

    With --http, a daemon serves the same tools at /mcp on a loopback address. Callers need a token:
    without --token-file one is generated once, and the daemon prints where it is.

    \b
    Examples:
      session-memory mcp
      session-memory mcp --profile minimal --read-only
      session-memory mcp --all-projects
      session-memory mcp --idle-timeout 0
      session-memory mcp --http --port 37771
      session-memory --store https://memory.example.org mcp
    """
    if project is not None and all_projects:
        raise UsageError("--project and --all-projects exclude each other", hint="give one of them")
    shared = _shared_project(app)
    options = Options(
        project=project or (None if all_projects else shared),
        all_projects=all_projects,
        profile=profile,
        read_only=read_only or app.hub_url is not None,
        response_mode=response_mode,
        idle_seconds=0 if http else 300 if idle_timeout is None else idle_timeout,
    )
    runtime = Runtime(
        options, lambda: app.paths, app.clock, lambda: app.config, _hub_over_store(app)
    )
    if http:
        reason = _http(app, runtime, host=host, port=port, token_file=token_file)
    else:
        reason = _stdio(app, runtime, in_package=in_package)
    log_line(f"exit_reason={reason}")


def _hub_over_store(app: App) -> Callable[[Store], Store] | None:
    if app.hub_url is None:
        return None
    from session_memory.cli.hub_store import over_copy

    return over_copy(app)


def _shared_project(app: App) -> str | None:
    """What the team calls the project of this directory, where a hub is served instead of it."""
    if app.hub_url is None:
        return None
    if not app.config.team.mcp:
        raise Refused("the team is closed to agents", hint="the user can open it: team.mcp = true")
    from session_memory.cli.hub_store import joined_hub
    from session_memory.core.project.directory import project_at
    from session_memory.store import open_store

    joined = joined_hub(app.own_paths, app.hub_url)
    with open_store(str(app.own_paths.data), app.clock(), read_only=True) as store:
        here = project_at(store.projects(), _directory())
    shared = joined.of(here.key) if here is not None else None
    return shared.project if shared is not None else None


def _stdio(app: App, runtime: Runtime, *, in_package: bool) -> str:
    from session_memory.mcp.server import Server, ServerEnvironment
    from session_memory.mcp.stdio import serve

    environment = ServerEnvironment(app.environ, _directory())
    is_double = partial(_is_wired, app) if in_package else None
    return serve(Server(runtime, environment, log_line, is_double=is_double), runtime)


def _is_wired(app: App, agent: str) -> bool:
    """Whether `init` gave the agent this server as well."""
    from session_memory.adapters.registry import find_agent
    from session_memory.cli import wiring
    from session_memory.install.plan import wiring_state

    known_agent = find_agent(agent)
    client = known_agent.load_wiring() if known_agent else None
    if client is None or known_agent is None or known_agent.mcp is None:
        return False
    if not known_agent.mcp.renames_plugin_servers:  # the agent itself keeps one of the two
        return False
    where = wiring.context(app)
    state = wiring_state(client, where, wiring.launchers(app), wiring.file_reader(where))
    return state.mcp in ("wired", "outdated", "hand-made")


def _directory() -> str:
    """Where the agent works; a directory that was removed belongs to no project."""
    try:
        return name_to_text(os.getcwd())
    except OSError:
        return os.sep


def _http(app: App, runtime: Runtime, *, host: str, port: int, token_file: str | None) -> str:
    from session_memory.mcp import http

    address = http.loopback(host)
    path = Path(token_file) if token_file else http.token_file(app.paths.state)
    token = http.read_token(path, create=token_file is None)
    log_line(f"callers need the token in {path}")
    return http.serve_http(runtime, http.Listen(address, port, token), log_line)
