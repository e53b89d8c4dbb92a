"""Writes Cline tasks in their real shape: one array of entries, rewritten at every change."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

Row = dict[str, Any]

START = 1_772_442_000_000  # 2026-03-02T09:00:00Z
MODEL = "claude-sonnet-4-5"


class ClineLog:
    """One task in the making: each method appends the entries such a step leaves behind.

        log = ClineLog(seed=7)
        log.prompt("fix the failing test")
        log.run("pytest -q", "1 failed", exit_code=1)
        log.write(home)  # home/tasks/<id>/ui_messages.json

    `rows` is the array to be; a test may change it.
    """

    def __init__(self, seed: int = 1, *, cwd: str = "/work/shop") -> None:
        self.now = START + seed * 1000
        self.session_id = str(self.now)
        self.cwd = cwd
        self.rows: list[Row] = []
        self.history: Row = {}
        self.directory_words = "Current Working Directory"

    def entry(self, kind: str, text: str, *, ask: bool = False, **more: Any) -> Row:
        """Append an entry."""
        self.now += 137
        how = "ask" if ask else "say"
        row = {"ts": self.now, "type": how, how: kind, "text": text, **more}
        self.rows.append(row)
        return row

    def prompt(self, text: str) -> None:
        """The task, and later what the user answers."""
        self.entry("user_feedback" if self.rows else "task", text)

    def request(self, spent: tuple[int, int, int, int] = (100, 20, 0, 0), usd: float = 0.0) -> None:
        """A request to the model: input, output, cache writes and reads."""
        environment = f"<environment_details>\n# {self.directory_words} ({self.cwd}) Files\na.py\n"
        names = ("tokensIn", "tokensOut", "cacheWrites", "cacheReads")
        facts: Row = {"request": f"...\n{environment}</environment_details>", "cost": usd}
        facts |= dict(zip(names, spent, strict=True))
        model = {"providerId": "anthropic", "modelId": MODEL, "mode": "act"}
        self.entry("api_req_started", json.dumps(facts), modelInfo=model)

    def say(self, text: str) -> None:
        """An answer."""
        self.request()
        self.entry("text", text)

    def think(self, text: str) -> None:
        """What the model thought."""
        self.entry("reasoning", text)

    def tool(self, name: str, path: str, content: str = "") -> None:
        """A tool of the client's; `content` is its input or its result."""
        self.entry("tool", json.dumps({"tool": name, "path": path, "content": content}))

    def run(self, command: str, text: str, exit_code: int = 0) -> None:
        """A command, and what it printed in two pieces."""
        self.request()
        self.entry("command", command, ask=True)
        said = f"{text}\nCommand exited with code {exit_code}" if exit_code else text
        for piece in (said[: len(said) // 2], said[len(said) // 2 :]):
            self.entry("command_output", piece, ask=True)

    def complete(self, text: str) -> None:
        """The end of a task comes twice: with its text, and as a question without."""
        self.entry("completion_result", text)
        self.entry("completion_result", "", ask=True)

    def write(self, home: Path) -> Path:
        """Write the task where the client would."""
        folder = home / "tasks" / self.session_id
        folder.mkdir(parents=True, exist_ok=True)
        if self.history:
            (folder / "history_item.json").write_text(json.dumps(self.history))
        path = folder / "ui_messages.json"
        path.write_text(json.dumps(self.rows, ensure_ascii=False), encoding="utf-8")
        return path
