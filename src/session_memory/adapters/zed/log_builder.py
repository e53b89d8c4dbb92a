"""Writes Zed threads in their real shape: rows of one database, each a packed JSON document."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from session_memory.adapters.packed import pack_zstd

Row = dict[str, Any]

START = 1_772_442_000_000  # 2026-03-02T09:00:00Z
MODEL = "claude-sonnet-4-5"

_SCHEMA = """
CREATE TABLE IF NOT EXISTS threads (id TEXT PRIMARY KEY, summary TEXT NOT NULL,
  updated_at TEXT NOT NULL, data_type TEXT NOT NULL, data BLOB NOT NULL, parent_id TEXT,
  folder_paths TEXT, folder_paths_order TEXT, created_at TEXT);
"""
_TOKENS = (
    "input_tokens",
    "output_tokens",
    "cache_creation_input_tokens",
    "cache_read_input_tokens",
)


class ZedLog:
    """One thread in the making: each method leaves what such a step leaves behind.

        log = ZedLog(seed=7)
        log.prompt("fix the failing test")
        log.run("pytest -q", "1 failed", exit_code=1)
        log.write(home)  # a row in home/threads/threads.db

    `thread` is the row and `document` its JSON; a test may change both.
    """

    json_column = ("threads", "data")
    json_is_text = False

    def __init__(self, seed: int = 1, *, cwd: str = "/work/shop", packed: bool = True) -> None:
        self.now = START + seed * 100_000
        self.session_id = f"00000000-0000-4000-8000-{seed:012x}"
        self.packed = packed
        self.thread: Row = {"folder_paths": cwd, "created_at": _iso(self.now)}
        self.document: Row = {
            "title": f"Thread {seed}",
            "messages": [],
            "model": {"provider": "anthropic", "model": MODEL},
            "request_token_usage": {},
            "cumulative_token_usage": {},
        }

    @property
    def messages(self) -> list[Any]:
        """The messages so far."""
        return self.document["messages"]

    def prompt(self, text: str, spent: tuple[int, int, int, int] = (0, 0, 0, 0)) -> None:
        """What the user typed, and what the last request for it cost."""
        self.now += 1000
        name = f"user-{len(self.messages)}"
        self.messages.append({"User": {"id": name, "content": [{"Text": text}]}})
        if any(spent):
            usage = dict(zip(_TOKENS, spent, strict=True))
            self.document["request_token_usage"][name] = usage

    def agent(self, *content: Any, results: Row | None = None) -> None:
        """A message of the agent."""
        self.now += 1000
        self.messages.append({"Agent": {"content": [*content], "tool_results": results or {}}})

    def say(self, text: str, *, thought: str = "") -> None:
        """An answer."""
        thinking = [{"Thinking": {"text": thought, "signature": "s"}}] if thought else []
        self.agent(*thinking, {"Text": text})

    def tool(self, name: str, given: Row, text: str, *, is_error: bool = False) -> None:
        """A call and its result, which are parts of one message."""
        call_id = f"tool-{len(self.messages)}"
        raw = json.dumps(given)
        use = {"id": call_id, "name": name, "raw_input": raw, "input": given}
        result = {"tool_name": name, "is_error": is_error, "content": {"Text": text}}
        self.agent({"ToolUse": use}, results={call_id: result})

    def run(self, command: str, text: str, exit_code: int = 0) -> None:
        """A command; the thread has no exit code but in words."""
        failed = f'Command "{command}" failed with exit code {exit_code}.\n\n'
        self.tool("terminal", {"command": command}, f"{failed if exit_code else ''}{text}")

    def spend(self, spent: tuple[int, int, int, int]) -> None:
        """What the whole thread cost so far."""
        self.document["cumulative_token_usage"] = dict(zip(_TOKENS, spent, strict=True))

    def write(self, home: Path) -> Path:
        """Write the row where the editor would."""
        path = home / "threads" / "threads.db"
        path.parent.mkdir(parents=True, exist_ok=True)
        data = json.dumps(self.document, ensure_ascii=False).encode()
        row: Row = {
            "id": self.session_id,
            "summary": self.document["title"],
            "updated_at": _iso(self.now),
            "data_type": "zstd" if self.packed else "json",
            "data": pack_zstd(data) if self.packed else data,
            **self.thread,
        }
        places = ", ".join("?" for _ in row)
        with closing(sqlite3.connect(path)) as db, db:
            db.executescript(_SCHEMA)
            db.execute(
                f"INSERT OR REPLACE INTO threads ({', '.join(row)}) VALUES ({places})",
                list(row.values()),
            )
        return path


def _iso(at: int) -> str:
    return datetime.fromtimestamp(at / 1000, UTC).isoformat()
