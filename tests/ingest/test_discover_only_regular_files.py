"""A pipe or device where a file belongs is never waited for, wherever it is."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from session_memory.adapters.claude.log_builder import ClaudeLog
from session_memory.testing.workspace import Workspace

pytestmark = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")


class Machine:
    """A home as a user has it: agents in their usual places, no configuration of ours."""

    def __init__(self, root: Path) -> None:
        self.space = Workspace(root)
        self.home = self.space.home
        self.claude = self.home / ".claude"
        self.memory = root / "memory"
        self.project = root / "project"
        (self.project / ".git").mkdir(parents=True)
        self.log = ClaudeLog(1, cwd=str(self.project))
        self.log.prompt("what is here?")
        self.log.say("a README")
        self.log.write(self.claude)

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        """A command to its end; one that hangs fails the test."""
        return self.space.run(*words)

    def report(self) -> dict[str, object]:
        done = self.run("sweep", "--json")
        assert done.returncode in (0, 3), done.stderr
        return json.loads(done.stdout)


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def pipe(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    os.mkfifo(path)
    return path


def opencode(machine: Machine) -> Path:
    return machine.home / ".local" / "share" / "opencode" / "opencode.db"


HARMLESS: dict[str, Callable[[Machine], Path]] = {
    "settings of Claude": lambda machine: pipe(machine.claude / "settings.json"),
    "local settings of Claude": lambda machine: pipe(machine.claude / "settings.local.json"),
    "settings of Gemini": lambda machine: pipe(machine.home / ".gemini" / "settings.json"),
    "side file": lambda machine: pipe(
        machine.log.path(machine.claude).with_suffix("") / "tool-results" / "b1.txt"
    ),
    "instructions": lambda machine: pipe(machine.project / "AGENTS.md"),
    "git configuration": lambda machine: pipe(machine.project / ".git" / "config"),
}


@pytest.mark.rows("ING-13")
@pytest.mark.parametrize("place", HARMLESS)
def test_a_pipe_beside_the_logs_is_passed_over(machine: Machine, place: str) -> None:
    HARMLESS[place](machine)
    report = machine.report()
    assert (report["ingested"], report["failed"]) == (1, [])
    assert machine.run("status").returncode == 0
    assert machine.run("config", "agents").returncode == 0


LOGS: dict[str, Callable[[Machine], Path]] = {
    "claude": lambda machine: machine.claude / "projects" / "p" / "odd.jsonl",
    "codex": lambda machine: machine.home / ".codex/sessions/2026/01/02/rollout-odd.jsonl",
    "grok": lambda machine: machine.home / ".grok/sessions/%2Fwork/odd/updates.jsonl",
    "gemini": lambda machine: machine.home / ".gemini/tmp/shop/chats/session-odd.jsonl",
    "qwen": lambda machine: machine.home / ".qwen/projects/-work/chats/odd.jsonl",
    "copilot": lambda machine: machine.home / ".copilot/session-state/odd/events.jsonl",
    "cline": lambda machine: machine.home / ".cline/data/tasks/odd/ui_messages.json",
    "cowork": lambda machine: (
        machine.home / ".config/Claude/local-agent-mode-sessions/o/a/local_1/audit.jsonl"
    ),
    "copilot_chat": lambda machine: (
        machine.home / ".config/Code/User/workspaceStorage/abc/chatSessions/odd.jsonl"
    ),
    "cursor": lambda machine: (
        machine.home / ".cursor/projects/work-shop/agent-transcripts/odd/odd.jsonl"
    ),
    "droid": lambda machine: machine.home / ".factory/sessions/-work/odd.jsonl",
    "continue_dev": lambda machine: machine.home / ".continue/sessions/odd.json",
    "antigravity": lambda machine: (
        machine.home
        / ".gemini/antigravity-cli/brain/odd/.system_generated/logs/transcript_full.jsonl"
    ),
    "pi": lambda machine: machine.home / ".pi/agent/sessions/--work--/odd.jsonl",
    "crush": lambda machine: machine.home / ".local/share/crush/p/.crush/crush.db",
    "kimi": lambda machine: machine.home / ".kimi-code/sessions/wd/s/agents/main/wire.jsonl",
    "kiro": lambda machine: machine.home / ".kiro/sessions/cli/odd.jsonl",
    "zed": lambda machine: machine.home / ".local/share/zed/threads/threads.db",
}


@pytest.mark.rows("ING-13")
@pytest.mark.parametrize("agent", LOGS)
def test_a_pipe_in_place_of_a_log_is_named_in_the_report(machine: Machine, agent: str) -> None:
    path = pipe(LOGS[agent](machine))
    report = machine.report()
    assert report["ingested"] == 1
    (failure,) = report["failed"]  # type: ignore[misc]
    assert (failure["path"], failure["reason"]) == (str(path), "not a regular file")


@pytest.mark.rows("ING-13")
@pytest.mark.parametrize("name", [".session-memory.toml", ".sessionmemoryignore"])
def test_a_pipe_in_place_of_a_narrowing_file_keeps_its_repository_out(
    machine: Machine, name: str
) -> None:
    pipe(machine.project / name)
    report = machine.report()
    assert report["excluded"] == 2
    assert any(name in told for told in report["warnings"])  # type: ignore[attr-defined]


@pytest.mark.rows("ING-13")
def test_a_pipe_in_place_of_the_configuration_is_refused(machine: Machine) -> None:
    path = pipe(machine.memory / "config.toml")
    done = machine.run("sweep")
    assert done.returncode == 4
    assert f"{path}: cannot be read: not a regular file" in done.stderr


@pytest.mark.rows("ING-13")
@pytest.mark.parametrize("end", ["", "-wal", "-journal"])
def test_a_pipe_in_place_of_a_database_is_reported(machine: Machine, end: str) -> None:
    path = opencode(machine)
    path.parent.mkdir(parents=True)
    if end:
        sqlite3.connect(path).execute("CREATE TABLE session (id)")
    pipe(path.with_name(path.name + end))
    report = machine.report()
    assert report["ingested"] == 1
    (failure,) = report["failed"]  # type: ignore[misc]
    assert failure["path"] == str(path)
    told = f"{path.name}{end} is not a regular file" if end else "not a regular file"
    assert failure["reason"] == told


@pytest.mark.rows("ING-13")
def test_a_pipe_in_the_spool_is_set_aside(machine: Machine) -> None:
    machine.report()
    pipe(machine.memory / "state" / "spool" / "00000000000000000001-1-abcd.json")
    done = machine.run("worker", "run", "--json")
    assert json.loads(done.stdout)["damaged"] == 1
