"""Every command explains itself: an example that works, and a page made from the same words."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from contextlib import ExitStack
from inspect import cleandoc
from pathlib import Path

import click
import pytest

from session_memory.cli.app import App, cli
from session_memory.cli.options import Option
from session_memory.testing.workspace import Workspace

PAGE = Path(__file__).resolve().parents[2] / "docs" / "cli.md"
COMMENT = re.compile(r"\s{2,}.*")


def walk(command: click.Command, context: click.Context) -> Iterator[tuple[str, click.Context]]:
    """(path, context) of a command and everything below it."""
    yield context.command_path, context
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            inner = command.get_command(context, name)
            assert inner is not None, name
            yield from walk(inner, click.Context(inner, info_name=name, parent=context))


COMMANDS = dict(walk(cli, click.Context(cli, info_name="session-memory")))


def examples(context: click.Context) -> list[str]:
    """The command lines under "Examples:", without what is said beside them."""
    _, found, block = (context.command.help or "").partition("Example")
    lines = block.split("\n\n")[0].splitlines()[1:] if found else []
    return [COMMENT.sub("", line.strip()) for line in lines if line.strip()]


def words_of(example: str) -> list[str]:
    """Our own words of a line: what follows the program, up to the shell's business."""
    inside = re.search(r"session-memory ([^|>)<\"]*(?:\"[^\"]*\"[^|>)<\"]*)*)", example)
    return shlex.split(inside[1], comments=True) if inside else []


def test_every_sub_command_is_walked() -> None:
    assert len(COMMANDS) > 60
    assert "session-memory rules trial start" in COMMANDS


@pytest.mark.parametrize("path", COMMANDS)
def test_every_command_has_an_example_that_its_options_allow(
    path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rules.json").touch()  # some examples read a file
    found = examples(COMMANDS[path])
    assert found, f"`{path} --help` shows no example"
    for example in found:
        words = words_of(example)
        assert "session-memory" in example, example
        parse(words, example)


def parse(words: list[str], example: str) -> None:
    """Let click read a command line without doing what it says."""
    with ExitStack() as opened:
        context = opened.enter_context(cli.make_context("session-memory", words, obj=App({})))
        while isinstance(context.command, click.Group):
            rest = [*context._protected_args, *context.args]
            if not rest:
                assert context.command is cli or context.command.invoke_without_command, example
                return
            name, command, rest = context.command.resolve_command(context, rest)
            assert command is not None, example
            context = opened.enter_context(command.make_context(name, rest, parent=context))


def test_the_page_has_the_help_of_every_command() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert [path for path in COMMANDS if f"\n## {path}\n" not in page] == []
    for path, context in COMMANDS.items():
        for example in examples(context):
            assert example in page, path


@pytest.mark.rows("CLI-13")
@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("rules detect", "A digest is what is kept of a session for good"),
        ("project observations", "An observation is a statement"),
        ("rules stages", "A candidate was found and awaits your decision"),
        ("rules approve", "A rule is a sentence for agents that you approve"),
        ("project memory show", "A trace is what one session left"),
        ("project pack", "A pack is the state of a project"),
        ("project lanes", "A lane is the part of a project"),
        ("store fsck", "A segment is a compressed file"),
        ("store quarantine", "In quarantine are lines of logs"),
        ("rules trial", "A trial gives a rule to half of the sessions"),
        ("rules measure", "A trial gives a rule to half of the sessions"),
        ("worker", "The spool holds what hooks noted"),
    ],
)
def test_a_word_of_ours_is_explained_where_it_is_used(
    tmp_path: Path, words: str, sentence: str
) -> None:
    output = " ".join(Workspace(tmp_path).run(*words.split(), "--help").stdout.split())
    assert sentence in output


def test_the_page_says_where_every_earlier_verb_is() -> None:
    earlier = """
        init sweep schedule status agents doctor config uninstall search sessions show digest brief
        pack observations open-work completion-check changes project lanes fix usage tail detect
        review distribute measure loop explain why-injected memory journal pause resume forget
        secrets redact audit retention backup restore fsck repair worker jobs quarantine spend mcp
        export import dump shell-completion version
    """
    table = PAGE.read_text().partition("# Earlier names")[2]
    left = [line.split("|")[1] for line in table.splitlines() if line.startswith("|")]
    assert [verb for verb in earlier.split() if not re.search(rf"`{verb}\b", " ".join(left))] == []


@pytest.mark.parametrize("width", [40, 80, 120])
@pytest.mark.parametrize("path", COMMANDS)
def test_help_fits_its_terminal(path: str, width: int) -> None:
    command = COMMANDS[path].command
    context = command.context_class(
        command, info_name=path.split()[-1], terminal_width=width, max_content_width=width
    )
    # One word cannot be folded: the choices of an option, or the key of a setting.
    lines = [line for line in context.get_help().splitlines() if len(line.split()) > 1]
    assert [line for line in lines if len(line) > width] == []


def test_every_help_of_an_option_is_printed_as_it_is() -> None:
    """Click would take the indent out of it; see cli/options.py."""
    found = [
        (path, param.help)
        for path, context in COMMANDS.items()
        for param in context.command.params
        if isinstance(param, click.Option)
        and (type(param) is not Option or (param.help or "") != cleandoc(param.help or ""))
    ]
    assert found == []
