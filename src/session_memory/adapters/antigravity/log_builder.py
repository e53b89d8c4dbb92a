"""Writes Antigravity's conversations in their real shape, the same for the same seed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from session_memory.clock import iso

Row = dict[str, Any]

START = 1_772_442_000_000  # 2026-03-02T09:00:00Z


class AntigravityLog:
    """One conversation in the making: each method appends the steps such a step leaves behind.

    log = AntigravityLog(seed=7)
    log.prompt("fix the failing test")
    log.run("pytest -q", "1 failed", exit_code=1)
    log.write(home)  # home/brain/<id>/.system_generated/logs/transcript_full.jsonl
    """

    def __init__(self, seed: int = 1, *, cwd: str = "/work/shop") -> None:
        self.now = START + seed * 60_000
        self.conversation = f"00000000-0000-4000-8000-{seed:012x}"
        self.cwd = cwd
        self.rows: list[Row] = []
        self.history: list[Row] = []

    def step(self, source: str, kind: str, content: Any, **fields: Any) -> Row:
        """Append a step."""
        self.now += 1000
        moment = (iso(self.now) or "")[:19] + "Z"
        row: Row = {"step_index": len(self.rows), "source": source, "type": kind}
        row |= {"status": "DONE", "created_at": moment, "content": content, **fields}
        self.rows.append(row)
        return row

    def prompt(self, text: str, model: str = "") -> Row:
        """What the user typed, in the wrapping of the client."""
        change = f"The user changed setting `Model Selection` from None to {model}."
        more = f"\n<USER_SETTINGS_CHANGE>\n{change}\n</USER_SETTINGS_CHANGE>" if model else ""
        wrapped = f"<USER_REQUEST>\n{text}\n</USER_REQUEST>\n<ADDITIONAL_METADATA>\nx\n"
        row = self.step("USER_EXPLICIT", "USER_INPUT", f"{wrapped}</ADDITIONAL_METADATA>{more}")
        about = {"display": text, "timestamp": self.now, "workspace": self.cwd}
        self.history.append({**about, "conversationId": self.conversation})
        return row

    def say(self, text: str, **fields: Any) -> Row:
        """An answer."""
        return self.step("MODEL", "PLANNER_RESPONSE", text, **fields)

    def tool(self, name: str, given: Row, text: str, kind: str = "GENERIC", **fields: Any) -> Row:
        """A call and the step that answers it; each argument is JSON in a text."""
        args = {key: json.dumps(value) for key, value in given.items()}
        self.say("", tool_calls=[{"name": name, "args": args}])
        times = "Created At: 2026-03-02T09:00:00Z\nCompleted At: 2026-03-02T09:00:01Z\n"
        return self.step("MODEL", kind, f"{times}\n{text}", **fields)

    def run(self, command: str, text: str, exit_code: int = 0) -> Row:
        """A command; its end stands in words."""
        end = f"exited with code {exit_code}" if exit_code else "completed successfully"
        output = f"The command {end}.\nOutput:\n{text}"
        return self.tool("run_command", {"CommandLine": command}, output, "RUN_COMMAND")

    def folder(self, home: Path) -> Path:
        """Where the transcripts are."""
        return home / "brain" / self.conversation / ".system_generated" / "logs"

    def write(self, home: Path, name: str = "transcript_full.jsonl") -> Path:
        """Write a transcript, and the prompts to the history."""
        path = self.folder(home) / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(_lines(self.rows), encoding="utf-8")
        with (home / "history.jsonl").open("a", encoding="utf-8") as history:
            history.write(_lines(self.history))
        return path


def _lines(rows: list[Row]) -> str:
    return "".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows)
