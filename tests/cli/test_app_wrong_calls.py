"""Whatever is typed, wherever output goes: an error with a hint and an exit code, no traceback."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from session_memory.cli.app import cli
from session_memory.testing.samples import write_samples
from session_memory.testing.workspace import Workspace

JUNK = "\x1b[31m\udcff\x07evil"
HUGE = "9" * 50_000
CODES = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10}
WAITS = (
    *("mcp", "tail", "web", "worker run", "hub serve"),
    *("fleet detect", "fleet measure", "fleet redistil"),
)
"""Run until they are stopped, or start processes: only calls that are refused at once."""
Call = tuple[str, ...]


def commands(group: click.Group, context: click.Context, path: Call = ()) -> Iterator[
    tuple[Call, click.Command]
]:  # fmt: skip
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        here = (*path, name)
        yield here, command
        if isinstance(command, click.Group):
            yield from commands(command, click.Context(command, parent=context), here)


def wrong_calls(path: Call, command: click.Command) -> list[Call]:
    needed = [p for p in command.params if isinstance(p, click.Argument) and p.required]
    if " ".join(path) in WAITS:
        return [(*path, "--nonsense")]
    calls: list[Call] = [("--nonsense",), ("surplus",) * 9]
    calls += [(value,) * len(needed) for value in (JUNK, HUGE, "", "-1") if needed]
    for option in command.params:
        takes_value = isinstance(option, click.Option) and not (option.is_flag or option.count)
        if takes_value and not option.hidden:
            name = option.opts[-1]
            calls += [(name,), *((name, value) for value in (JUNK, HUGE, ""))]
    return [(*path, *call) for call in calls]


EVERY = {" ".join(path): wrong_calls(path, one) for path, one in commands(cli, click.Context(cli))}
TOP = sorted({name.split()[0] for name in EVERY})


@pytest.fixture(scope="module")
def full(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    space = Workspace(tmp_path_factory.mktemp("full"))
    write_samples(space.claude)
    for words in (("sweep",), ("rules",)):
        assert space.run("--config", str(space.write_config()), *words).returncode == 0
    return space


@pytest.mark.rows("CLI-14")
@pytest.mark.parametrize("verb", TOP)
def test_no_wrong_call_ends_in_a_traceback_or_without_a_hint(full: Workspace, verb: str) -> None:
    config = str(full.write_config())
    for calls in (calls for name, calls in EVERY.items() if name.split()[0] == verb):
        for call in calls:
            done = full.run("--config", config, *call)
            output = repr((call, done.returncode, done.stderr))[:400]
            assert done.returncode in CODES, output
            assert "Traceback" not in done.stderr and "error: unexpected" not in done.stderr, output
            assert "\x1b" not in done.stdout + done.stderr, output
            if "error:" in done.stderr:
                assert "hint:" in done.stderr and len(done.stderr) < 60_000, output


@pytest.mark.rows("CLI-14")
@pytest.mark.parametrize(
    ("words", "code", "hint"),
    [
        (("nonsense",), 2, "see `session-memory --help`"),
        (("approve",), 2, "see `session-memory --help`"),
        (("aprove",), 2, "see `session-memory --help`"),
        (("rules", "aprove"), 2, "see `session-memory rules --help`"),
        (("sessions", "--project"), 2, "see `session-memory sessions --help`"),
        (("show",), 2, "see `session-memory show --help`"),
        (("show", "999"), 1, "`session-memory sessions` lists them"),
        (("show", HUGE), 1, "`session-memory sessions` lists them"),
        (("project", "pack", "--project", "nowhere"), 1, "project list"),
        (("rules", "approve", "zzz"), 1, "rules list"),
        (("fix", "no such thing"), 1, "search --errors"),
        (("config", "set", "no.such", "1"), 4, "config show --all"),
    ],
)
def test_errors_say_what_to_type(full: Workspace, words: Call, code: int, hint: str) -> None:
    done = full.run("--config", str(full.write_config()), *words)
    assert (done.returncode, hint in done.stderr) == (code, True), done.stderr


@pytest.mark.rows("CLI-14")
@pytest.mark.skipif(os.name == "nt", reason="a POSIX shell closes the streams")
@pytest.mark.parametrize("closed", [">&-", "2>&-", "<&-", "<&- >&- 2>&-", ">/dev/full"])
@pytest.mark.parametrize("words", ["", "status", "sessions", "rules", "help", "nonsense"])
def test_closed_and_full_streams_are_no_accident(full: Workspace, closed: str, words: str) -> None:
    if "/dev/full" in closed and not Path("/dev/full").exists():
        pytest.skip("no /dev/full here")
    line = f'"{sys.executable}" -m session_memory --config "{full.write_config()}" {words} {closed}'
    done = subprocess.run(
        ["sh", "-c", line], env=full.environ(), capture_output=True, text=True, check=False
    )
    output = done.stdout + done.stderr
    assert "Traceback" not in output and "unexpected" not in output and "ignored" not in output
    wrong = 2 if words == "nonsense" else 1 if "full" in closed else 0
    assert done.returncode == wrong, output


@pytest.mark.rows("CLI-14")
@pytest.mark.skipif(os.name == "nt", reason="no pseudo-terminal")
@pytest.mark.parametrize(("columns", "term"), [(40, "xterm"), (40, "dumb"), (7, "xterm")])
def test_small_and_dumb_terminals_stay_clean(full: Workspace, columns: int, term: str) -> None:
    from tests.e2e.pseudo_terminal import Seat, at_terminal

    environ = {**full.environ(), "TERM": term, "PAGER": "cat"}
    program = [sys.executable, "-m", "session_memory", "--config", str(full.write_config())]
    for words in (
        [],
        ["sessions"],
        ["rules"],
        ["search", "pytest"],
        ["help", "gate"],
        ["show", "x"],
    ):
        seen = at_terminal(Seat(environ, full.root, columns), [*program, *words])
        assert seen.code == (1 if "x" in words else 0), seen.screen
        assert "Traceback" not in seen.raw
        assert term != "dumb" or "\x1b" not in seen.raw
        lines = click.unstyle(seen.raw).replace("\r", "").split("\n")
        wide = [line for line in lines if len(line) > columns]
        assert columns < 40 or [line for line in wide if "session-memory" not in line] == []


@pytest.mark.rows("CLI-14")
@pytest.mark.skipif(os.name == "nt", reason="no pseudo-terminal")
@pytest.mark.parametrize(
    ("words", "prompt"),
    [
        (["rules", "review"], "[q]uit"),
        (["init"], "[y/N"),
        (["forget", "--session", "1"], "[y/N]"),
        (["tail"], "Ctrl-C"),
    ],
)
def test_an_interrupt_ends_with_130_and_no_traceback(
    full: Workspace, words: list[str], prompt: str
) -> None:
    from tests.e2e.pseudo_terminal import INTERRUPT, Seat, at_terminal

    (full.home / ".claude").mkdir(exist_ok=True)
    environ = {**full.environ(), "PAGER": "cat"}
    program = [sys.executable, "-m", "session_memory", "--config", str(full.write_config())]
    seen = at_terminal(Seat(environ, full.root), [*program, *words], [(prompt, INTERRUPT)])
    assert seen.code == 130, seen.screen
    assert "interrupted" in seen.screen and "Traceback" not in seen.screen


@pytest.mark.rows("CLI-14")
@pytest.mark.parametrize(
    ("typed", "meant"),
    [("aprove", "rules approve"), ("detect", "rules detect"), ("serch", "search")],
)
def test_a_verb_of_another_section_is_suggested_too(
    full: Workspace, typed: str, meant: str
) -> None:
    assert f"did you mean `{meant}`?" in full.run(typed).stderr
