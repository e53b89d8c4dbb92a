"""`session-memory prompt`: the text of an MCP prompt, for agents that show none."""

from __future__ import annotations

import click

from session_memory.cli.app import App, json_option, pass_app
from session_memory.cli.output import emit_json
from session_memory.cli.store import reading
from session_memory.core.project.directory import current_directory, project_at
from session_memory.errors import NotFound, UsageError
from session_memory.mcp.prompts import PROMPTS

_BY_NAME = {prompt.name: prompt for prompt in PROMPTS}


@click.command(name="prompt")
@click.argument("name", type=click.Choice(tuple(_BY_NAME)))
@click.argument("text", metavar="[ERROR]", nargs=-1)
@json_option
@pass_app
def command(app: App, name: str, text: tuple[str, ...]) -> None:
    """Print what the MCP prompt NAME tells an agent in this directory; `fix` takes the error.

    Commands and skills of the packages run this. What it quotes is stored text.

    \b
    Examples:
      session-memory prompt catch-up
      session-memory prompt fix "sh: vitest: command not found"
    """
    from session_memory.mcp.prompt_texts import PromptContext

    prompt, argument = _BY_NAME[name], " ".join(text).strip()
    if bool(prompt.argument) != bool(argument):
        expected = f"the {prompt.argument}" if prompt.argument else "nothing"
        raise UsageError(f"the prompt {name} takes {expected}", hint="session-memory prompt --help")
    with reading(app) as store:
        project = project_at(store.projects(), current_directory())
        if project is None:
            raise NotFound(
                "this directory belongs to no captured project", hint="session-memory sweep"
            )
        prompt_text = prompt.text(PromptContext(store, app.paths.data, project, argument))
    if app.json:
        emit_json({"prompt": name, "text": prompt_text})
    else:
        click.echo(prompt_text)
