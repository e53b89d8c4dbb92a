"""`session-memory handoff`: what a fresh session of any agent needs to go on with this work."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from session_memory.adapters.registry import BUILT_IN
from session_memory.cli.app import App, json_option, pass_app
from session_memory.cli.options import option
from session_memory.cli.output import emit_json
from session_memory.cli.recall_options import project_key, project_option
from session_memory.cli.session_argument import names, session_option
from session_memory.cli.store import reading, sweep_context
from session_memory.core.project.former_keys import key_hint
from session_memory.errors import NotFound, Refused, StoreLocked, UsageError

if TYPE_CHECKING:
    from session_memory.core.schema import Session
    from session_memory.store.port import SessionReader


@click.command(name="handoff")
@option("--to", "agent", type=click.Choice(BUILT_IN), metavar="AGENT", help="Say how to start it.")
@project_option
@session_option("The work of this session, not of the newest")
@option(
    "--max-tokens",
    type=click.IntRange(200, 8_000),
    default=1_200,
    show_default=True,
    metavar="N",
    help="At most so many tokens, from 200 to 8,000.",
)
@option(
    "--output", metavar="FILE", type=click.Path(dir_okay=False), help="Write it into a new file."
)
@option("--no-sweep", is_flag=True, help="Do not read the agents' logs first.")
@json_option
@pass_app
def command(
    app: App,
    *,
    agent: str | None,
    project: str | None,
    session: str | None,
    max_tokens: int,
    output: str | None,
    no_sweep: bool,
) -> None:
    """Print what a fresh session needs to go on with the work of the newest one.

    Made from the log of the session, also while it runs: what was asked for, rules of the user,
    decisions, checks, files, what failed and what cured it, what is open. It is fenced: text of
    logs is reference, not instructions.

    \b
    Examples:
      session-memory handoff
      session-memory handoff --to codex --output handoff.md
      session-memory handoff --session 42 --json
    """
    from session_memory.adapters.registry import find_agent
    from session_memory.memory.handoff import handoff_of

    if not no_sweep:
        _sweep(app)
    with reading(app) as store:
        chosen = _chosen(store, project, session)
        session_agent = find_agent(chosen.flavor)
        made = handoff_of(
            store, chosen, session_agent.title if session_agent else chosen.flavor, max_tokens
        )
    if not made.text:
        raise NotFound(
            f"session {chosen.id} shows nothing that a successor would need",
            hint="name another with --session; `session-memory sessions` lists them",
        )
    if output:
        _write(output, made.text + "\n")
    if app.json:
        lines = [{"kind": line.kind, "text": line.text, "seq": line.seq} for line in made.lines]
        emit_json(
            {
                **names(chosen),
                "project": chosen.project_key,
                "to": agent,
                "output": output,
                "tokens_at_most": made.tokens,
                "text": made.text,
                "lines": lines,
            }
        )
        return
    if output is None:
        click.echo(made.text)
    if agent:
        app.note(_how_to_start(agent, output))


def _sweep(app: App) -> None:
    """Take in what the running session wrote since the last sweep."""
    from session_memory.worker.sweep import sweep_and_mine

    try:
        sweep_and_mine(sweep_context(app), app.paths.last_sweep)
    except StoreLocked as error:
        app.note(f"{error.message}; what it has not stored yet is missing here")


def _chosen(store: SessionReader, project: str | None, session: str | None) -> Session:
    from session_memory.memory.handoff import newest_session

    if session is not None:
        return store.find_session(session)
    key = project_key(store, project)
    newest = newest_session(store, key)
    if newest is None:
        hint = key_hint(store.projects(), key, "name one with --session")
        raise NotFound(f"no session of {key} is stored", hint=hint)
    return newest


def _write(output: str, text: str) -> None:
    """Into a new file of the user's; one that is there is not replaced."""
    try:
        with Path(output).open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise Refused(f"{output} is there already", hint="name a new file") from None
    except OSError as error:
        raise UsageError(f"cannot write {output}: {error.strerror}") from None


def _how_to_start(agent: str, output: str | None) -> str:
    from session_memory.adapters.registry import find_agent

    known_agent = find_agent(agent)
    client = known_agent.load_wiring() if known_agent else None
    title = known_agent.title if known_agent else agent
    if client is None or not client.programs:
        return f"give this to {title} as the first prompt of a session"
    words = f"Read {output} and go on" if output else "$(session-memory handoff)"
    return f'start {title} in the project with: {client.programs[0]} "{words}"'
