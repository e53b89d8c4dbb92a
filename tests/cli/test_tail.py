"""`tail` shows what agents did since the last look, in one stream."""

from __future__ import annotations

from pathlib import Path

from session_memory.adapters.claude.log_builder import ClaudeLog
from session_memory.testing.workspace import Workspace


def test_tail_once_shows_what_was_captured(tmp_path: Path) -> None:
    space = Workspace(tmp_path)
    log = ClaudeLog(1)
    log.prompt("fix \x1b[31mthe parser")
    log.run("pytest -q", "1 failed", exit_code=1)
    space.write(log)
    done = space.run("--config", str(space.write_config()), "tail", "--once")
    assert done.returncode == 0
    lines = done.stdout.splitlines()
    assert "\x1b" not in done.stdout
    assert any("USER" in line and "the parser" in line for line in lines)
    assert any("-> " in line and "pytest -q" in line for line in lines)
    assert any("failed:" in line for line in lines)
    again = space.run("--config", str(space.write_config()), "tail", "--once")
    assert (again.returncode, again.stdout) == (0, "")
    number = space.session(log.session_id).id
    assert all(line.split()[1:3] == ["claude", str(number)] for line in lines)


def test_tail_of_another_flavour_shows_nothing(tmp_path: Path) -> None:
    space = Workspace(tmp_path)
    log = ClaudeLog(1)
    log.prompt("hello")
    space.write(log)
    done = space.run("--config", str(space.write_config()), "tail", "--once", "--agent", "codex")
    assert (done.returncode, done.stdout) == (0, "")
