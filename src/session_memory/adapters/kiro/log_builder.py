"""Writes Kiro CLI sessions in both of their shapes: a line log, and a row of its database."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

Row = dict[str, Any]

START = 1_772_442_000_000  # 2026-03-02T09:00:00Z

_SCHEMA = """
CREATE TABLE IF NOT EXISTS conversations_v2 (key TEXT NOT NULL, conversation_id TEXT NOT NULL,
  value TEXT NOT NULL, created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL,
  PRIMARY KEY (key, conversation_id));
"""


class KiroLog:
    """One session in the making: each method leaves what such a step leaves behind.

        log = KiroLog(seed=7)
        log.prompt("fix the failing test")
        log.run("pytest -q", "1 failed", exit_code=1)
        log.write(home)      # home/sessions/cli/ID.jsonl
        log.write_row(home)  # a row in home/data.sqlite3

    `rows` are the lines of the log, `history` the entries of the stored conversation.
    """

    def __init__(self, seed: int = 1, *, cwd: str = "/work/shop") -> None:
        self.now = START + seed * 100_000
        self.session_id = f"00000000-0000-4000-8000-{seed:012x}"
        self.cwd = cwd
        self.about: Row = {"session_id": self.session_id, "cwd": cwd, "created_at": _iso(self.now)}
        self.rows: list[Row] = []
        self.history: list[Row] = []
        self._user: Row | None = None

    def row(self, kind: str, *content: Row) -> None:
        """Append a line."""
        self.rows.append({"version": "v1", "kind": kind, "data": {"content": list(content)}})

    def entry(self, assistant: Row) -> None:
        """Append an entry that answers what the user or a tool said last."""
        self.now += 5000
        env = {"env_state": {"current_working_directory": self.cwd}}
        user = {"content": self._user, "timestamp": _iso(self.now - 4000), "env_context": env}
        self._user = None
        ended = {"stream_end_timestamp_ms": self.now}
        self.history.append({"user": user, "assistant": assistant, "request_metadata": ended})

    def prompt(self, text: str) -> None:
        """What the user typed."""
        self.row("Prompt", {"kind": "text", "data": text})
        self._user = {"Prompt": {"prompt": text}}

    def say(self, text: str) -> None:
        """An answer."""
        self.row("AssistantMessage", {"kind": "text", "data": text})
        self.entry({"Response": {"message_id": f"m{len(self.history)}", "content": text}})

    def tool(self, name: str, given: Row, text: str, *, is_error: bool = False) -> None:
        """A call and its result."""
        call_id = f"tool-{len(self.rows)}"
        use = {"toolUseId": call_id, "name": name, "input": given}
        self.row("AssistantMessage", {"kind": "toolUse", "data": use})
        uses = [{"id": call_id, "name": name, "args": given}]
        self.entry({"ToolUse": {"message_id": "m", "content": "", "tool_uses": uses}})
        status = "error" if is_error else "success"
        said = [{"kind": "text", "data": text}]
        result = {"toolUseId": call_id, "content": said, "status": status}
        self.row("ToolResults", {"kind": "toolResult", "data": result})
        stored = {"tool_use_id": call_id, "content": [{"Text": text}], "status": status.title()}
        self._user = {"ToolUseResults": {"tool_use_results": [stored]}}

    def run(self, command: str, text: str, exit_code: int = 0) -> None:
        """A command; the log has no exit code but in words."""
        said = f"{text}\nexit code: {exit_code}" if exit_code else text
        self.tool("execute_bash", {"command": command}, said)

    def write(self, home: Path) -> Path:
        """Write the line log where the client would, and what stands next to it."""
        folder = home / "sessions" / "cli"
        folder.mkdir(parents=True, exist_ok=True)
        about = {**self.about, "updated_at": _iso(self.now)} if self.about else {}
        (folder / f"{self.session_id}.json").write_text(json.dumps(about))
        path = folder / f"{self.session_id}.jsonl"
        lines = (json.dumps(row, ensure_ascii=False) for row in self.rows)
        path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        return path

    def write_row(self, home: Path, key: str = "") -> Path:
        """Write the row where the client would."""
        home.mkdir(parents=True, exist_ok=True)
        value = {"conversation_id": self.session_id, "history": self.history, "transcript": []}
        text = json.dumps(value, ensure_ascii=False)
        with closing(sqlite3.connect(home / "data.sqlite3")) as db, db:
            db.executescript(_SCHEMA)
            db.execute(
                "INSERT OR REPLACE INTO conversations_v2 VALUES (?, ?, ?, ?, ?)",
                (key or self.cwd, self.session_id, text, START, self.now),
            )
        return home / "data.sqlite3"


class KiroRowLog(KiroLog):
    """A session that is written into the database."""

    json_column = ("conversations_v2", "value")
    json_is_text = True

    def write(self, home: Path) -> Path:
        """Write the row where the client would."""
        return self.write_row(home)


def _iso(at: int) -> str:
    return datetime.fromtimestamp(at / 1000, UTC).isoformat()
