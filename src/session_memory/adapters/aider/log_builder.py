"""Writes Aider's chat history in its real shape: runs one behind the other in one Markdown file."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

START = datetime(2026, 3, 2, 9, 0, 0, tzinfo=UTC)
MODEL = "gpt-4o"
VERSION = "0.86.1"


class AiderLog:
    """One run in the making: each method appends what such a step leaves in the history.

        log = AiderLog(seed=7)
        log.prompt("fix the failing test")
        log.say("It looks wrong.", tokens=("3.2k", "66"), usd="0.0086")
        log.edit("cart.py")
        log.write(home)  # appended to home/.aider.chat.history.md

    `text` is what the run will append; a test may change it.
    """

    def __init__(self, seed: int = 1, *, cwd: str = "") -> None:
        self.started = f"{START + timedelta(minutes=seed):%Y-%m-%d %H:%M:%S}"
        self.text = f"\n# aider chat started at {self.started}\n\n"
        self.output(f"/usr/bin/aider --model {MODEL}", f"Aider v{VERSION}")
        self.output(f"Main model: {MODEL} with diff edit format", "Weak model: gpt-4o-mini")
        self.output("Git repo: .git with 16 files", "Repo-map: using 4096 tokens, auto refresh")
        if cwd:
            self.output(f"Cur working dir: {cwd}", f"Git working dir: {cwd}")

    def output(self, *lines: str) -> None:
        """What the program prints."""
        self.text += "".join(f"> {line}  \n" for line in lines)

    def prompt(self, text: str) -> None:
        """What the user typed."""
        self.text += "\n" + "".join(f"#### {line}  \n" for line in text.split("\n"))

    def say(self, text: str, tokens: tuple[str, str] = ("3.2k", "66"), usd: str = "") -> None:
        """An answer and what it cost."""
        self.text += f"\n{text}\n\n"
        cost = f" Cost: ${usd} message, ${usd} session." if usd else ""
        self.output(f"Tokens: {tokens[0]} sent, {tokens[1]} received.{cost}")

    def edit(self, path: str) -> None:
        """An edit that was applied, and its commit."""
        self.output(f"Applied edit to {path}", f"Commit dde0244 feat: change {path}")

    def run(self, command: str) -> None:
        """A command the user agreed to; what it printed is not logged."""
        self.output(command, "Run shell command? (Y)es/(N)o/(D)on't ask again [Yes]: y")
        self.output(f"Running {command}")

    def write(self, home: Path) -> Path:
        """Append the run to the history of a repository."""
        home.mkdir(parents=True, exist_ok=True)
        path = home / ".aider.chat.history.md"
        with path.open("a", encoding="utf-8", newline="") as file:
            file.write(self.text)
        return path
