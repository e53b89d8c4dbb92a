"""A hook as `init` leaves it: the file, a table of guards beside it, a project it knows."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from session_memory.adapters.claude.log_builder import ClaudeLog
from session_memory.core.loop.guards import Choice
from session_memory.guards.table import FILE, Rule, compile_guards, encode_table
from session_memory.hooks import entry
from session_memory.testing.command import run_command


class Hook:
    """Runs the hook as an agent does."""

    def __init__(self, folder: Path) -> None:
        self.home, self.project = folder / "memory", folder / "shop"
        self.hooks = self.home / "data" / "hooks"
        self.hooks.mkdir(parents=True)
        (self.project / ".git").mkdir(parents=True)
        (self.project / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
        self.file = self.hooks / "entry.py"
        shutil.copy(entry.__file__, self.file)
        self.client = "claude"

    @property
    def state(self) -> Path:
        return self.home / "state"

    @property
    def log(self) -> str:
        log = self.state / "hook-errors.log"
        return log.read_text() if log.exists() else ""

    def guard(self, *texts: str, trial: bool = False, **choices: Choice) -> None:
        """Write the table for rules r0, r1 ... with these texts."""
        rules = [Rule(f"r{n}", text, frozenset({"shop"}), trial) for n, text in enumerate(texts)]
        guards = compile_guards(rules, choices)
        places = {str(self.project): [rule.id for rule in rules]}
        (self.hooks / FILE).write_bytes(encode_table(tuple(guards.values()), places))

    def call(self, event: str, session: str = "s1", **fields: Any) -> dict[str, Any]:
        """What the hook answers to an event; {} for nothing."""
        payload = {"session_id": session, "cwd": str(self.project), "hook_event_name": event}
        done = subprocess.run(
            [sys.executable, "-I", "-S", str(self.file), event, self.client],
            input=json.dumps({**payload, **fields}).encode(),
            env={"SESSION_MEMORY_HOME": str(self.home), "PATH": os.environ["PATH"]},
            capture_output=True,
            check=True,
        )
        assert done.stderr == b""
        return json.loads(done.stdout) if done.stdout.strip() else {}

    def shell(self, command: str, session: str = "s1") -> dict[str, Any]:
        event = "BeforeTool" if self.client == "gemini" else "PreToolUse"
        return self.call(event, session, tool_name="Bash", tool_input={"command": command})

    def edit(self, path: str, session: str = "s1", tool: str = "Edit") -> dict[str, Any]:
        given = {"file_path": str(self.project / path)}
        return self.call("PreToolUse", session, tool_name=tool, tool_input=given)

    def records(self, field: str = "given") -> list[str]:
        """What all records say, in the order in which they were written."""
        files = sorted((self.state / "spool").glob("*.json"))
        rows = [json.loads(path.read_bytes()) for path in files]
        return [name for row in rows for name in row.get(field) or ()]


class User:
    """A home with two sessions in one repository, wired by `init`."""

    def __init__(self, folder: Path) -> None:
        self.home, self.project = folder / "home", folder / "home" / "shop"
        (self.project / ".git").mkdir(parents=True)
        (self.project / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
        self.environ = {
            "HOME": str(self.home),
            "PATH": os.environ["PATH"],
            "SESSION_MEMORY_HOME": str(folder / "memory"),
            "USER": "dev",
            "COLUMNS": "200",
        }
        self.data, self.state = folder / "memory" / "data", folder / "memory" / "state"
        for seed in (1, 2):
            log = ClaudeLog(seed, cwd=str(self.project))
            log.prompt("install it")
            log.run(f"cd {self.project} && npm install", "npm ERR! use bun", 1)
            log.run("npm ci", "npm ERR! use bun", 1)
            log.run("bun install", "ok")
            log.say("done")
            log.write(self.home / ".claude")

    def run(self, *words: str, code: int = 0) -> str:
        done = run_command(*words, environ=self.environ, directory=self.project)
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout + done.stderr

    def json(self, *words: str) -> Any:
        done = run_command(*words, "--json", environ=self.environ, directory=self.project)
        return json.loads(done.stdout)

    def npm(self, session: str) -> str:
        payload = {
            "session_id": session,
            "transcript_path": str(self.home / ".claude" / "projects" / "x.jsonl"),
            "cwd": str(self.project),
            "hook_event_name": "PreToolUse",
            "tool_name": "Bash",
            "tool_input": {"command": "npm install"},
        }
        launcher = self.data / "hooks" / "session-memory-hook"
        done = subprocess.run(
            [str(launcher), "PreToolUse", "claude"],
            input=json.dumps(payload),
            env=self.environ,
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout


@pytest.fixture
def hook(tmp_path: Path) -> Hook:
    return Hook(tmp_path)


@pytest.fixture
def user(tmp_path: Path) -> User:
    return User(tmp_path)


def words(answer: dict[str, Any]) -> str:
    """What reaches the model beside a call."""
    return str(answer.get("hookSpecificOutput", {}).get("additionalContext", ""))
