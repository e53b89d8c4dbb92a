"""A desk at which the whole loop runs: two repositories, two agents, sessions before and after."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from session_memory.__main__ import main
from session_memory.adapters.claude.log_builder import ClaudeLog
from session_memory.adapters.codex.log_builder import CodexLog

HOUR = 3_600_000
Met = Callable[[str, str], list[str]]
"""(flavour, session) to the troubles it meets."""
TROUBLES = {"deploy": "npm run deploy", "plan": "terraform apply"}


class LoopDesk:
    """Runs the program in this process, on logs of its own."""

    def __init__(
        self, folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        self.folder, self.capsys = folder, capsys
        self.claude, self.codex = folder / "claude", folder / "codex"
        self.data = folder / "memory" / "data"
        self.now = time.time_ns() // 1_000_000
        self._seed = 0
        self.notes = ""
        """What the last command wrote to stderr."""
        monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(self.claude))
        monkeypatch.setenv("CODEX_HOME", str(self.codex))
        monkeypatch.setenv("USER", "ada")

    def run(self, *words: str, code: int = 0) -> str:
        """One command; its output."""
        self.capsys.readouterr()
        got = main([*words])
        out, err = self.capsys.readouterr()
        assert got == code, (got, out, err)
        self.notes = err
        return out

    def json(self, *words: str, code: int = 0) -> Any:
        """One command; its output as JSON."""
        return json.loads(self.run(*words, "--json", code=code))

    def repository(self, name: str) -> Path:
        """A git repository with a file of its user's."""
        root = self.folder / name
        (root / ".git").mkdir(parents=True)
        (root / "CLAUDE.md").write_bytes(f"# {name}\r\nmine, without a last line end".encode())
        return root

    def sessions(self, root: Path, count: int, hits: dict[str, int], *, after: bool) -> None:
        """`count` sessions of both agents, of which `hits` of each trouble fail, evenly spread."""
        first = self.now + HOUR if after else self.now - 30 * 24 * HOUR
        for at in range(count):
            self._seed += 1
            start = first + at * HOUR + self._seed * 1000  # equal words at equal times were a fork
            shown = [name for name, n in hits.items() if (at + 1) * n // count > at * n // count]
            self.session(root, start, lambda _flavor, _name, shown=shown: shown)

    def session(self, root: Path, start: int, troubles: Met) -> None:
        """One session; `troubles` says what fails in it, knowing which session it is."""
        place = str(root)
        log: Any
        if self._seed % 2:
            log = ClaudeLog(self._seed, cwd=place, start=start)
        else:
            log = CodexLog(self._seed, cwd=place, at=start).header().turn()
        log.prompt(f"ship release {self._seed}")
        claude = isinstance(log, ClaudeLog)
        for name in troubles(*(("claude", log.session_id) if claude else ("codex", log.thread))):
            for _ in range(2):
                log.run(TROUBLES[name], f"{name}: refused by the server", exit_code=1)
        log.run("git log -1", "abc")
        log.write(self.claude if claude else self.codex)

    def next_start(self) -> int:
        """When another session of its own begins."""
        self._seed += 1
        return self.now + self._seed * HOUR

    def wire(self) -> None:
        """Give one agent our hook."""
        self.run("init", "--agent", "claude", "--yes", "--no-sweep")

    def learn(self) -> dict[str, str]:
        """Sweep, detect, take in; the pattern of each trouble."""
        self.run("sweep")
        self.run("rules", "detect")
        self.run("rules", "propose", "--all")
        rows = self.json("rules", "list")["patterns"]
        return {
            name: row["id"]
            for name, command in TROUBLES.items()
            for row in rows
            if row["type"] == "failing_command" and row["locus"].startswith(command)
        }


def tree(*roots: Path) -> dict[str, bytes | None]:
    """Every file and folder below, with contents."""
    return {
        str(path): path.read_bytes() if path.is_file() else None
        for root in roots
        for path in sorted(root.rglob("*"))
    }
