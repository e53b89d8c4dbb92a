"""Writes Crush sessions in their real shape: rows of a project's database."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

Row = dict[str, Any]

START = 1_772_442_000  # 2026-03-02T09:00:00Z, in seconds as all of Crush's times
MODEL = "gpt-5"

_SCHEMA = """
CREATE TABLE IF NOT EXISTS sessions (id TEXT PRIMARY KEY, parent_session_id TEXT,
  title TEXT NOT NULL, message_count INTEGER NOT NULL DEFAULT 0,
  prompt_tokens INTEGER NOT NULL DEFAULT 0, completion_tokens INTEGER NOT NULL DEFAULT 0,
  cost REAL NOT NULL DEFAULT 0.0, updated_at INTEGER NOT NULL, created_at INTEGER NOT NULL,
  summary_message_id TEXT);
CREATE TABLE IF NOT EXISTS files (id TEXT PRIMARY KEY, session_id TEXT NOT NULL,
  path TEXT NOT NULL, content TEXT NOT NULL, version INTEGER NOT NULL DEFAULT 0,
  created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS messages (id TEXT PRIMARY KEY, session_id TEXT NOT NULL,
  role TEXT NOT NULL, parts TEXT NOT NULL default '[]', model TEXT, created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL, finished_at INTEGER, provider TEXT);
CREATE INDEX IF NOT EXISTS idx_messages_session_id ON messages (session_id);
"""


def connect(home: Path) -> sqlite3.Connection:
    """The client's own connection to the database of a project; the caller closes it."""
    (home / ".crush").mkdir(parents=True, exist_ok=True)
    db = sqlite3.connect(home / ".crush" / "crush.db")
    db.execute("PRAGMA journal_mode = wal")
    db.executescript(_SCHEMA)
    return db


class CrushLog:
    """One session in the making: each method leaves the messages such a step leaves behind.

        log = CrushLog(seed=7)
        log.prompt("fix the failing test")
        log.run("pytest -q", "1 failed", exit_code=1)
        log.write(home)  # rows in home/.crush/crush.db

    `session` and `rows` are the rows to be; a test may change them.
    """

    json_column = ("messages", "parts")
    json_is_text = True

    def __init__(self, seed: int = 1, *, parent: str = "") -> None:
        self.now = START + seed * 10_000
        self.session_id = f"00000000-0000-4000-8000-{seed:012x}"
        self.session: Row = {
            "id": self.session_id,
            "parent_session_id": parent or None,
            "title": "New Session",
            "cost": 0.0,
            "created_at": self.now,
        }
        self.rows: list[Row] = []

    def message(self, role: str, *parts: Row, finish: Row | None = None) -> Row:
        """Append a message; without `finish` it ends as its role does."""
        self.now += 1
        usual = {"reason": "end_turn" if role == "assistant" else "stop", "time": self.now}
        row: Row = {
            "id": f"{self.session_id}-m{len(self.rows)}",
            "role": role,
            "parts": [*parts, {"type": "finish", "data": finish or usual}],
            "model": MODEL if role == "assistant" else "",
            "created_at": self.now,
            "updated_at": self.now,
        }
        self.rows.append(row)
        return row

    def prompt(self, text: str) -> None:
        """What the user typed."""
        self.message("user", {"type": "text", "data": {"text": text}})

    def say(self, text: str, *, thought: str = "") -> None:
        """An answer."""
        thinking = {"type": "reasoning", "data": {"thinking": thought, "signature": ""}}
        parts = [thinking] if thought else []
        self.message("assistant", *parts, {"type": "text", "data": {"text": text}})

    def tool(self, name: str, given: Row, text: str, *, is_error: bool = False) -> None:
        """A call and its result."""
        call_id = f"call-{self.session_id[-4:]}-{len(self.rows)}"
        call = {"id": call_id, "name": name, "input": json.dumps(given), "type": "function"}
        self.message(
            "assistant",
            {"type": "tool_call", "data": {**call, "finished": True}},
            finish={"reason": "tool_use", "time": self.now},
        )
        about = {"start_time": self.now * 1000, "end_time": self.now * 1000 + 7}
        result = {"tool_call_id": call_id, "name": "", "content": text, "is_error": is_error}
        data = {**result, "metadata": json.dumps(about)}
        self.message("tool", {"type": "tool_result", "data": data})

    def run(self, command: str, text: str, exit_code: int = 0) -> None:
        """A command; its failure stands only in its text."""
        code = f"\nExit code {exit_code}" if exit_code else ""
        self.tool("bash", {"command": command}, f"{text}{code}\n\n<cwd>/work/shop</cwd>")

    def spend(self, usd: float) -> None:
        """What the session cost so far."""
        self.session["cost"] = usd

    def write(self, home: Path) -> Path:
        """Write the rows where the client would."""
        with closing(connect(home)) as db:
            self.store(db)
        return home / ".crush" / "crush.db"

    def store(self, db: sqlite3.Connection) -> None:
        """Write the session with a connection of the client's."""
        own = {**self.session, "message_count": len(self.rows), "updated_at": self.now}
        _replace(db, "sessions", own)
        for row in self.rows:
            text = json.dumps(row["parts"], ensure_ascii=False)
            _replace(db, "messages", {**row, "session_id": self.session_id, "parts": text})
        db.commit()


def _replace(db: sqlite3.Connection, table: str, row: Row) -> None:
    places = ", ".join("?" for _ in row)
    changes = ", ".join(f"{name} = excluded.{name}" for name in row)
    db.execute(
        f"INSERT INTO {table} ({', '.join(row)}) VALUES ({places})"
        f" ON CONFLICT (id) DO UPDATE SET {changes}",
        list(row.values()),
    )
