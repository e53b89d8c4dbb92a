"""At a terminal the user is asked once, and no is an answer."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib

import pytest
from tests.install.machine import Machine

pytestmark = pytest.mark.skipif(os.name != "posix", reason="needs a pseudo-terminal")


def answer(machine: Machine, text: bytes, *words: str, path: str = "") -> tuple[int, bytes]:
    """Run the program at a terminal of its own, with an answer already typed."""
    theirs, ours = os.openpty()
    os.write(theirs, text)
    try:
        done = subprocess.run(
            [sys.executable, "-m", "session_memory", *words],
            stdin=ours,
            capture_output=True,
            env={
                "HOME": str(machine.home),
                "SESSION_MEMORY_HOME": str(machine.memory),
                "PATH": path,
            },
            cwd=machine.home,
            timeout=60,
            check=False,
        )
    finally:
        os.close(theirs)
        os.close(ours)
    return done.returncode, done.stderr


def test_yes_wires_and_is_asked_once(machine: Machine) -> None:
    machine.have("claude", "gemini", "codex")
    code, output = answer(machine, b"y\n", "init", "--no-sweep")
    assert code == 0
    assert output.count(b"[y/N") == 1
    assert "hooks" in machine.json(".gemini/settings.json")
    assert answer(machine, b"y\n", "uninstall")[0] == 0
    assert not (machine.home / ".gemini/settings.json").exists()


@pytest.mark.parametrize("text", [b"n\n", b"\n"])
def test_no_leaves_everything_as_it_is(machine: Machine, text: bytes) -> None:
    machine.have("claude")
    before = machine.files()
    code, output = answer(machine, text, "init")
    assert code == 130
    assert b"nothing was written" in output
    assert machine.files() == before
    assert not machine.launcher.exists()


def test_without_a_terminal_the_refusal_says_what_would_change(machine: Machine) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "session_memory", "init"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        env={"HOME": str(machine.home), "SESSION_MEMORY_HOME": str(machine.memory), "PATH": ""},
        cwd=machine.home,
        timeout=60,
        check=False,
    )
    assert done.returncode == 8
    assert b"files of our own would change; without a terminal we cannot ask" in done.stderr
    assert b"add --yes" in done.stderr


@pytest.mark.rows("WIR-09")
def test_d_shows_the_diff_and_asks_again(machine: Machine) -> None:
    machine.have("claude")
    theirs, ours = os.openpty()
    os.write(theirs, b"x\nd\ny\n")
    done = subprocess.run(
        [sys.executable, "-m", "session_memory", "--color", "always", "init", "--no-sweep"],
        stdin=ours,
        capture_output=True,
        env={"HOME": str(machine.home), "SESSION_MEMORY_HOME": str(machine.memory), "PATH": ""},
        cwd=machine.home,
        timeout=60,
        check=False,
    )
    os.close(theirs)
    os.close(ours)
    assert done.returncode == 0
    assert done.stderr.count(b"Wire 1 agent (2 files)?") == 3
    assert b"please answer y or n" in done.stderr
    summary, _, diff = done.stdout.partition(b"--- ")
    assert b"create ~/.claude/settings.json" in summary
    assert b"+++ " in diff and b"\x1b[32m+" in diff
    assert "hooks" in machine.json(".claude/settings.json")


def have_program(machine: Machine, *names: str) -> str:
    """Put programs of these names on a PATH of their own."""
    for name in names:
        program = machine.programs / name
        program.write_text("#!/bin/sh\nexit 1\n")
        program.chmod(0o755)
    return str(machine.programs)


def model_settings(machine: Machine) -> dict[str, object]:
    config = machine.memory / "config.toml"
    return tomllib.loads(config.read_text())["model"] if config.exists() else {}


@pytest.mark.rows("WIR-20")
@pytest.mark.parametrize(
    ("typed", "wanted"),
    [
        (b"y\n\n", {"provider": "none"}),
        (b"y\n0\n", {"provider": "none"}),
        (b"y\nno\n", {"provider": "none"}),
        (
            b"y\nlots\n0.50\n",
            {"provider": "claude_cli", "day_max_usd": 0.5, "run_max_usd": 0.5},
        ),
        (b"y\ncodex 3\n", {"provider": "codex_cli", "day_max_usd": 3.0, "run_max_usd": 1.0}),
    ],
)
def test_the_users_own_agent_is_asked_for_once_with_a_budget(
    machine: Machine, typed: bytes, wanted: dict[str, object]
) -> None:
    machine.have("claude")
    path = have_program(machine, "claude", "codex")
    code, output = answer(machine, typed, "init", "--no-sweep", path=path)
    assert (code, model_settings(machine)) == (0, wanted)
    assert b"US dollars a day" in output
    code, output = answer(machine, b"y\n", "init", "--no-sweep", path=path)
    assert code == 0 and b"Daily budget" not in output


@pytest.mark.rows("WIR-20")
def test_without_a_person_no_agent_is_asked(machine: Machine) -> None:
    machine.have("claude")
    path = have_program(machine, "claude")
    code, output = answer(machine, b"", "init", "--no-sweep", "--yes", path=path)
    assert code == 0 and b"Daily budget" not in output
    assert model_settings(machine) == {}
    code, output = answer(machine, b"y\n", "init", "--no-sweep", path="")
    assert code == 0 and b"Daily budget" not in output
    assert machine.init("--json").code == 0
    assert model_settings(machine) == {}
