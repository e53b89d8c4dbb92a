"""The table of verbs: every verb has its module and stands in the help."""

from __future__ import annotations

from importlib import import_module

import click
from tests.test_main import Run, run

from session_memory.cli.verbs import PLUMBING, VERBS, Section

__all__ = ["run"]


def test_help_shows_examples_and_every_verb_on_stdout(run: Run) -> None:
    done = run("--help")
    assert done.returncode == 0
    assert done.stderr == ""
    assert done.stdout.index("Examples:") < done.stdout.index("Options:")
    shown = {name for name in VERBS if f"  {name} " in done.stdout}
    assert shown == VERBS.keys() - PLUMBING.keys()


def test_every_verb_has_its_module() -> None:
    sections = [verb for verb in VERBS.values() if isinstance(verb, Section)]
    tables = [VERBS, *(section.verbs for section in sections)]
    verbs = [verb for table in tables for verb in table.values() if not isinstance(verb, Section)]
    for verb in verbs:
        module, _, name = verb.target.partition(":")
        held = getattr(import_module(f"session_memory.cli.{module}"), name or "command")
        assert isinstance(held, click.Command), verb
