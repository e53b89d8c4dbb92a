"""Writes Droid's sessions in their real shape, the same for the same seed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from session_memory.clock import iso

Row = dict[str, Any]

START = 1_772_442_000_000  # 2026-03-02T09:00:00Z


class DroidLog:
    """One session in the making: each method appends the records such a step leaves behind.

        log = DroidLog(seed=7)
        log.prompt("fix the failing test")
        log.run("pytest -q", "1 failed", exit_code=1)
        log.write(home)  # home/sessions/-work-shop/<id>.jsonl

    `settings` is the file next to it; without content it is not written.
    """

    def __init__(self, seed: int = 1, *, cwd: str = "/work/shop", parent: str = "") -> None:
        self.now = START + seed * 1000
        self.session_id = f"00000000-0000-4000-8000-{seed:012x}"
        self.cwd = cwd
        self.settings: Row = {}
        start: Row = {"type": "session_start", "id": self.session_id, "title": "New Session"}
        start |= {"sessionTitle": "New Session", "owner": "me", "version": 2, "cwd": cwd}
        if parent:
            start |= {"callingSessionId": parent, "callingToolUseId": "toolu_1"}
        self.rows: list[Row] = [start]
        self._made = 0

    def row(self, kind: str, **fields: Any) -> Row:
        """Append a record with a time."""
        self.now += 137
        self._made += 1
        row = {"type": kind, "id": f"r-{self._made}", "timestamp": iso(self.now), **fields}
        self.rows.append(row)
        return row

    def message(self, role: str, *content: Row, **fields: Any) -> Row:
        """Append a message."""
        return self.row("message", message={"role": role, "content": list(content), **fields})

    def prompt(self, text: str) -> None:
        """What the user typed; in the first message, behind two texts of the client."""
        blocks = [{"type": "text", "text": text}]
        if self._made == 0:
            texts = ("User system info\nModel: Claude Opus 4.5", "IMPORTANT: be brief")
            reminders = (f"<system-reminder>\n{text}\n</system-reminder>" for text in texts)
            blocks = [*({"type": "text", "text": reminder} for reminder in reminders), *blocks]
        self.message("user", *blocks)

    def say(self, text: str) -> None:
        """An answer."""
        self.message("assistant", {"type": "text", "text": text})

    def think(self, text: str) -> None:
        """What the model thought."""
        self.message("assistant", {"type": "thinking", "thinking": text, "signature": "x"})

    def tool(self, name: str, given: Row, text: str, *, error: bool = False) -> None:
        """A call and its result."""
        call_id = f"toolu_{self.session_id[-4:]}_{self._made}"
        self.message("assistant", {"type": "tool_use", "id": call_id, "name": name, "input": given})
        result = {"type": "tool_result", "tool_use_id": call_id, "content": text}
        self.message("user", {**result, "is_error": error})

    def run(self, command: str, text: str, exit_code: int = 0) -> None:
        """A command and its end."""
        output = f"{text}\n[Process exited with code {exit_code}]" if exit_code else text
        self.tool("Execute", {"command": command}, output, error=exit_code != 0)

    def spend(self, fresh: int, output: int, read: int = 0, written: int = 0) -> None:
        """What the whole session cost so far."""
        tokens = {"inputTokens": fresh, "outputTokens": output, "cacheReadTokens": read}
        self.settings = {"model": "claude-opus-4-5", "autonomyMode": "normal"}
        self.settings["tokenUsage"] = {**tokens, "cacheCreationTokens": written}

    def write(self, home: Path) -> Path:
        """Write the log where Droid would."""
        folder = home / "sessions" / self.cwd.replace("/", "-")
        folder.mkdir(parents=True, exist_ok=True)
        if self.settings:
            side = folder / f"{self.session_id}.settings.json"
            side.write_text(json.dumps(self.settings))
        path = folder / f"{self.session_id}.jsonl"
        lines = (json.dumps(row, ensure_ascii=False) for row in self.rows)
        path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        return path
