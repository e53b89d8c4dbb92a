"""The question of `init` about a model: may your own agent consolidate memory, for how much."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Mapping

import click

from session_memory.cli.app import App
from session_memory.cli.config_set import change_keys
from session_memory.cli.output import fit

PROVIDERS = {"claude": "claude_cli", "codex": "codex_cli"}
"""Programs that answer without a key of their own, by what they are called on PATH."""


def ask_about_model(app: App, *, yes: bool) -> None:
    """Ask once, at a terminal; Enter and everything without a terminal means no.

    The answer is written into the configuration, a no too: so the question does not come again.
    """
    here = installed(app.environ)
    is_set = app.loaded.provenance["model.provider"] != "default"
    if yes or app.json or not here or is_set or not sys.stdin.isatty():
        return
    others = f", or `{here[1]} AMOUNT` for {here[1]}" if len(here) > 1 else ""
    app.note(
        fit(
            f"Memory is made without a model. Your {here[0]} could word it better, in the"
            f" background, with your login: type the US dollars a day it may cost{others}."
        )
    )
    while True:
        click.echo(f"Daily budget for {here[0]} [0 = no] ", err=True, nl=False)
        answer = click.prompt("", "0", show_default=False, prompt_suffix="", err=True)
        decided = decision(answer, here)
        if decided is not None:
            break
        click.echo("please type an amount such as 0.50, or 0 for no", err=True)
    agent, amount = decided
    if not amount:
        change_keys(app, {"model.provider": "none"})
        app.note("no model is used; `session-memory config set model.provider` changes that")
        return
    budget = {"model.day_max_usd": amount, "model.run_max_usd": min(amount, 1.0)}
    change_keys(app, {"model.provider": PROVIDERS[agent], **budget})
    app.note(
        f"{agent} may consolidate memory for at most {amount:g} US dollars a day;"
        " `session-memory store spend` shows what it cost"
    )


def installed(environ: Mapping[str, str]) -> list[str]:
    """The programs that could be asked, in the order of preference."""
    return [name for name in PROVIDERS if shutil.which(name, path=environ.get("PATH", ""))]


def decision(answer: str, here: list[str]) -> tuple[str, float] | None:
    """The agent and the daily amount that an answer names; None where it names neither."""
    *agent, amount = answer.replace("$", " ").replace(",", ".").split() or ["0"]
    named = agent[0].lower() if agent else here[0]
    if named not in here or len(agent) > 1:
        return None
    if amount.lower() in ("n", "no"):
        return named, 0.0
    try:
        value = float(amount)
    except ValueError:
        return None
    return (named, value) if 0 <= value < 1_000 else None
