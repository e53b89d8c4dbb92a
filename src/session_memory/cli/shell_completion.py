"""`session-memory shell-completion`: the script with which a shell completes our commands."""

from __future__ import annotations

import click
from click.shell_completion import BashComplete, FishComplete, ShellComplete, ZshComplete

from session_memory.cli.app import App, cli, pass_app

PROGRAM = "session-memory"
VARIABLE = "_SESSION_MEMORY_COMPLETE"
SHELLS: dict[str, type[ShellComplete]] = {
    "bash": BashComplete,
    "zsh": ZshComplete,
    "fish": FishComplete,
}


@click.command(name="shell-completion", epilog="")
@click.argument("shell", type=click.Choice(list(SHELLS)))
@pass_app
def command(_app: App, shell: str) -> None:
    """Print the completion script for a shell; bash needs version 4.4 or later.

    The Tab key then completes commands and options, and from the store sessions, projects, agents
    and rules, configuration keys and help topics. zsh and fish show titles next to the names.

    \b
    Examples:
      eval "$(session-memory shell-completion bash)"         in ~/.bashrc
      eval "$(session-memory shell-completion zsh)"          in ~/.zshrc
      session-memory shell-completion fish | source          in config.fish
    """
    # Not BashComplete.source(): it starts a bash to ask for its version, and may not find one.
    script = SHELLS[shell](cli, {}, PROGRAM, VARIABLE)
    text = script.source_template % script.source_vars()
    # Click's script for fish ends a description at its first comma.
    click.echo(text.replace('string split ","', 'string split --max 1 ","'))
