"""A person's machine: agent logs of one repository, a store, and the commands of the team."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

from session_memory.adapters.claude.log_builder import START, ClaudeLog
from session_memory.testing.workspace import Workspace

PROJECT = "github.com/acme/shop"
ERROR = "ModuleNotFoundError: No module named 'yaml'"
SECRET = "AKIA" + "Q3EGRIWWQXQZ7PLM"


class Laptop(Workspace):
    """A workspace with a repository whose remote everybody knows."""

    def __init__(self, root: Path, name: str, url: str) -> None:
        root.mkdir(parents=True, exist_ok=True)
        super().__init__(root)
        self.name, self.url = name, url
        self.repo = root / "work" / "shop"
        (self.repo / ".git").mkdir(parents=True, exist_ok=True)
        remote = '[remote "origin"]\n\turl = git@github.com:acme/shop.git\n'
        (self.repo / ".git" / "config").write_text(remote, encoding="utf-8")

    @property
    def team(self) -> Path:
        """The folder that holds everything about the team."""
        return self.store_directory / "team"

    def do(self, *arguments: str, code: int | None = 0) -> subprocess.CompletedProcess[str]:
        """A command in this process; its exit code is checked."""
        config = str(self.write_config())
        done = self.run("--config", config, *arguments)
        assert code is None or done.returncode == code, (done.stdout, done.stderr)
        return done

    def read(self, *arguments: str, code: int | None = 0) -> Any:
        """The JSON that a command prints."""
        return json.loads(self.do(*arguments, "--json", code=code).stdout)

    def join(self, level: str = "lessons") -> Laptop:
        """Join and share the one project there is."""
        self.do("team", "join", self.url, f"invite-{self.name}", "--name", self.name)
        self.share(level)
        return self

    def share(self, level: str) -> None:
        """Share the project at a level."""
        self.do("team", "share", str(self.key), "--level", level)

    @property
    def key(self) -> str:
        """The project's key in this store."""
        with self.store() as store:
            return next(p.key for p in store.projects() if p.remote == PROJECT)

    def log(self, seed: int, says: str = "make it work") -> ClaudeLog:
        """A log in the repository, with an hour of its own."""
        log = ClaudeLog(seed, cwd=str(self.repo), start=START + seed * 3_600_000)
        log.prompt(says)
        return log

    def cured(self, seed: int, cure: str = "pip install pyyaml") -> ClaudeLog:
        """A session that met an error and got rid of it."""
        log = self.log(seed)
        log.run("python app.py", f"Traceback (most recent call last):\n{ERROR}", exit_code=1)
        log.run(cure, "Successfully installed")
        log.run("python app.py", "started")
        return log

    def worked(self, *logs: ClaudeLog) -> Laptop:
        """Sessions that happened, captured and distilled."""
        self.write(*logs)
        self.sweep()
        return self
