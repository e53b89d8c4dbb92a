"""Repositories, approved patterns and a desk at which the whole loop runs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from session_memory.__main__ import main
from session_memory.adapters.claude.log_builder import START, ClaudeLog
from session_memory.core.loop.catalog import Evidence, Pattern, PatternVersion, Snapshot
from session_memory.distribute.apply import ApplyResult, apply
from session_memory.distribute.files import FileReader, repository_problem
from session_memory.distribute.ledger import distributing, read_ledger
from session_memory.distribute.plan import DistributeRequest, make_plan
from session_memory.distribute.plan_builder import Plan
from session_memory.distribute.render import Lesson, lessons
from session_memory.distribute.targets import Repo
from session_memory.distribute.undo import UndoRequest, plan_undo
from session_memory.settings import Distribute

NOON = 1_800_000_000_000
HOUR = 3_600_000
BLOCKS = Distribute(targets=("CLAUDE.md", "AGENTS.md"))


def repository(folder: Path, name: str = "shop", **files: str) -> Path:
    """A repository with files in it."""
    root = folder / name
    (root / ".git").mkdir(parents=True)
    for file, text in files.items():
        (root / f"{file}.md").write_text(text)
    return root


def repo_of(root: Path, domain: str | None = None) -> Repo:
    """The repository as the store knows it."""
    return Repo(root.name, str(root), domain)


def approved(name: str, text: str, repos: tuple[str, ...] = ("shop",), **more: Any) -> Pattern:
    """A pattern that a person approved on strong evidence."""
    kind, cost = more.get("type", "user_correction"), more.get("cost", 1.0)
    quotes = more.get("quotes", ("no, use make test",))
    evidence = tuple(Evidence(f"s{n}", "claude", repos[0], NOON, q) for n, q in enumerate(quotes))
    counts = Snapshot(6, 3, cost, ("claude",), repos, session_ids=("claude:s0",))
    version = PatternVersion(
        *(1, 1, "approved", "approve", "ada", NOON, text),
        distribution_ready=True,
        snapshot=counts,
        evidence=evidence,
    )
    return Pattern(name, "problem", kind, more.get("locus", "make test"), text, (version,))


def lesson(name: str, text: str = "", **more: Any) -> Lesson:
    """The same as agents are given it."""
    text = text or f"Run make {name}, not pytest."
    return lessons([approved(name, text, **more)], str)[0]


class Hand:
    """Distributes into real files, without the command line."""

    def __init__(self, data: Path, *roots: Path, settings: Distribute = BLOCKS) -> None:
        self.data, self.settings = data, settings
        self.repos = tuple(repo_of(root) for root in roots)

    def plan(self, *given: Lesson, **more: Any) -> Plan:
        """What giving these would change."""
        ledger = more.pop("ledger", None) or read_ledger(self.data)
        request = DistributeRequest(given, self.repos, more.pop("settings", self.settings), **more)
        return make_plan(request, ledger, FileReader(), repository_problem)

    def give(self, *given: Lesson, **more: Any) -> tuple[Plan, ApplyResult]:
        """Give exactly these."""
        with distributing(self.data) as ledger:
            plan = self.plan(*given, ledger=ledger, **more)
            return plan, apply(self.data, plan, ledger, lambda: NOON)

    def undo(self, **which: Any) -> tuple[Plan, ApplyResult]:
        """Take out."""
        with distributing(self.data) as ledger:
            plan = plan_undo(ledger, FileReader(), repository_problem, UndoRequest(**which))
            return plan, apply(self.data, plan, ledger, lambda: NOON)


def tree(*roots: Path) -> dict[str, bytes | None]:
    """Every file and folder below, with contents."""
    return {
        str(path): path.read_bytes() if path.is_file() else None
        for root in roots
        for path in sorted(root.rglob("*"))
    }


class Desk:
    """Runs the program in this process, on logs of its own."""

    def __init__(
        self, folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        self.folder, self.capsys = folder, capsys
        self.claude = folder / "claude"
        self.data = folder / "memory" / "data"
        self.err = ""
        monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(self.claude))

    def run(self, *words: str, code: int = 0) -> str:
        """One command; its output."""
        self.capsys.readouterr()
        got = main([*words])
        out, self.err = self.capsys.readouterr()
        assert got == code, (got, out, self.err)
        return out

    def json(self, *words: str, code: int = 0) -> Any:
        """One command; its output as JSON."""
        return json.loads(self.run(*words, "--json", code=code))

    def write(self, *logs: ClaudeLog) -> None:
        """Logs where the agent leaves them."""
        for log in logs:
            log.write(self.claude)

    def learn(self) -> list[str]:
        """Sweep, detect and take in; the ids proposed."""
        self.run("sweep")
        self.run("rules", "detect")
        self.run("rules", "propose", "--all")
        return [row["id"] for row in self.json("rules", "list", "--all")["patterns"]]

    def corrected(self, root: Path, sessions: int = 3, start: int = 1) -> str:
        """Sessions in which a user corrects the agent alike; the pattern that shows, approved."""
        for seed in range(start, start + sessions):
            log = ClaudeLog(seed, cwd=str(root), start=START + seed * HOUR)  # else it is a fork
            log.prompt("fix the login form")
            log.run("pytest -q", "1 failed", exit_code=1)
            log.prompt("no, wrong: always run make verify instead of pytest here")
            log.run("make verify", "ok")
            log.prompt("no, wrong: always run make verify instead of pytest here")
            log.say("understood")
            self.write(log)
        self.learn()
        rows = self.json("rules", "list", "--all")["patterns"]
        (name,) = [row["id"] for row in rows if row["type"] == "user_correction"]
        self.run("rules", "edit", name, "--text", "Run make verify, not pytest.", "--reason", "x")
        self.run("rules", "approve", name)
        return str(name)
