"""Writes Cursor's sessions in its three stores, the same for the same seed."""

from __future__ import annotations

import hashlib
import json
import re
import sqlite3
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from session_memory.clock import iso

Row = dict[str, Any]

START = 1_772_442_000_000  # 2026-03-02T09:00:00Z
_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


def stamp(at: int) -> str:
    """The time in front of a prompt, as newer builds write it."""
    moment = datetime.fromtimestamp(at / 1000, UTC)
    day = f"{_DAYS[moment.weekday()]}, {_MONTHS[moment.month - 1]} {moment.day}, {moment.year}"
    clock = f"{moment.hour % 12 or 12}:{moment.minute:02} {'AM' if moment.hour < 12 else 'PM'}"
    return f"<timestamp>{day}, {clock} (UTC+0)</timestamp>\n"


class CursorLog:
    """One session in the making, as its steps; each `write` puts them into one of the stores.

        log = CursorLog(seed=7)
        log.prompt("fix the failing test")
        log.run("pytest -q", "1 failed", exit_code=1)
        log.write(home)  # home/projects/<slug>/agent-transcripts/<id>/<id>.jsonl

    `rows` is the transcript and `bubbles` the editor's messages; a test may change both.
    """

    def __init__(self, seed: int = 1, *, cwd: str = "/work/shop", stamped: bool = True) -> None:
        self.now = START + seed * 60_000
        self.session_id = f"00000000-0000-4000-8000-{seed:012x}"
        self.cwd = cwd
        self.stamped = stamped
        self.rows: list[Row] = []
        self.messages: list[Row] = []
        """As the command line keeps them."""
        self.bubbles: list[Row] = []
        self.composer: Row = {"name": "", "createdAt": self.now, "subComposerIds": []}
        self._made = 0

    def line(self, role: str, *blocks: Row) -> None:
        """A line of the transcript."""
        self.rows.append({"role": role, "message": {"content": list(blocks)}})

    def message(self, role: str, *blocks: Row) -> None:
        """A message of the command line's store."""
        self.messages.append({"role": role, "content": list(blocks), "createdAt": self.now})

    def bubble(self, kind: int, **fields: Any) -> Row:
        """A message of the editor's store."""
        self.now += 1000
        number = f"b-{len(self.bubbles)}"
        bubble = {"bubbleId": number, "type": kind, "text": "", "createdAt": iso(self.now)}
        self.bubbles.append({**bubble, **fields})
        return self.bubbles[-1]

    def prompt(self, text: str) -> None:
        """What the user typed, in the wrapping of the client."""
        time = stamp(self.now) if self.stamped else ""
        wrapped = f"{time}<user_query>\n{text}\n</user_query>"
        self.bubble(1, text=text)
        self.line("user", {"type": "text", "text": wrapped})
        self.message("user", {"type": "text", "text": wrapped})

    def say(self, text: str) -> None:
        """An answer."""
        self.bubble(2, text=text)
        self.line("assistant", {"type": "text", "text": text})
        self.message("assistant", {"type": "text", "text": text})

    def think(self, text: str) -> None:
        """What the model thought; a transcript does not mark it."""
        self.bubble(2, thinking={"text": text, "signature": ""})
        self.message("assistant", {"type": "reasoning", "text": text})

    def tool(self, name: str, given: Row, text: str, status: str = "completed") -> None:
        """A call; of its result the transcript says nothing."""
        self._made += 1
        call_id = f"call_{self._made}\nfc_{self._made}"
        fields = {"name": name, "toolCallId": call_id, "params": json.dumps(given)}
        self.bubble(2, toolFormerData={**fields, "status": status, "result": text})
        self.line("assistant", {"type": "tool_use", "name": name, "input": given})
        call = {"type": "tool-call", "toolCallId": call_id, "toolName": name, "args": given}
        self.message("assistant", call)
        result = {"type": "tool-result", "toolCallId": call_id, "toolName": name, "result": text}
        self.message("tool", result)

    def run(self, command: str, text: str, exit_code: int = 0) -> None:
        """A command; only its output says that it failed."""
        output = f"{text}\nExit code: {exit_code}" if exit_code else text
        self.tool("run_terminal_cmd", {"command": command}, output)

    # --- the stores ---

    def path(self, home: Path) -> Path:
        """Where the transcript is."""
        slug = re.sub(r"[/.]", "-", self.cwd).strip("-")
        folder = home / "projects" / slug / "agent-transcripts" / self.session_id
        return folder / f"{self.session_id}.jsonl"

    def write(self, home: Path) -> Path:
        """Write the transcript."""
        path = self.path(home)
        path.parent.mkdir(parents=True, exist_ok=True)
        lines = (json.dumps(row, ensure_ascii=False) for row in self.rows)
        path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        return path

    def write_chat(self, home: Path, **fields: Any) -> Path:
        """Write the command line's database."""
        place = hashlib.md5(self.cwd.encode(), usedforsecurity=False).hexdigest()
        path = home / "chats" / place / self.session_id / "store.db"
        path.parent.mkdir(parents=True, exist_ok=True)
        about = {"agentId": self.session_id, "name": "A chat", "createdAt": self.now, **fields}
        with closing(sqlite3.connect(path)) as db, db:
            db.execute("CREATE TABLE IF NOT EXISTS blobs (id TEXT PRIMARY KEY, data BLOB)")
            db.execute("CREATE TABLE IF NOT EXISTS meta (key TEXT PRIMARY KEY, value TEXT)")
            encoded = json.dumps(about).encode().hex()
            db.execute("INSERT OR REPLACE INTO meta VALUES ('0', ?)", (encoded,))
            rows = [json.dumps(message).encode() for message in self.messages]
            for data in (b"\x0a\x20" + bytes(32), *rows):  # a node of the client's own tree
                name = hashlib.sha256(data).hexdigest()
                db.execute("INSERT OR IGNORE INTO blobs VALUES (?, ?)", (name, data))
        return path

    def write_editor(self, home: Path, *, headers: bool = True) -> Path:
        """Write the session into the editor's database."""
        home.mkdir(parents=True, exist_ok=True)
        path = home / "state.vscdb"
        order = [{"bubbleId": b["bubbleId"], "type": b["type"]} for b in self.bubbles]
        composer = {
            **self.composer,
            "composerId": self.session_id,
            "lastUpdatedAt": self.now,
            "fullConversationHeadersOnly": order,
        }
        rows = {f"composerData:{self.session_id}": composer}
        rows |= {f"bubbleId:{self.session_id}:{b['bubbleId']}": b for b in self.bubbles}
        with closing(sqlite3.connect(path)) as db, db:
            db.execute("CREATE TABLE IF NOT EXISTS ItemTable (key TEXT UNIQUE, value BLOB)")
            db.execute("CREATE TABLE IF NOT EXISTS cursorDiskKV (key TEXT UNIQUE, value BLOB)")
            for key, value in rows.items():
                data = json.dumps(value)
                db.execute("INSERT OR REPLACE INTO cursorDiskKV VALUES (?, ?)", (key, data))
            if headers:
                db.execute(
                    "CREATE TABLE IF NOT EXISTS composerHeaders"
                    " (composerId TEXT PRIMARY KEY, lastUpdatedAt INTEGER, isSubagent INTEGER,"
                    " value TEXT)"
                )
                about = json.dumps({"workspaceIdentifier": {"uri": {"fsPath": self.cwd}}})
                row = (self.session_id, self.now, int(self.composer.get("isSubagent", 0)), about)
                db.execute("INSERT OR REPLACE INTO composerHeaders VALUES (?, ?, ?, ?)", row)
        return path


class CursorChatLog(CursorLog):
    """A session that is written into the command line's database."""

    json_column = ("blobs", "data")
    json_is_text = False

    def write(self, home: Path) -> Path:
        """Write the database where the client would."""
        return self.write_chat(home)


class CursorEditorLog(CursorLog):
    """A session that is written into the editor's database."""

    json_column = ("cursorDiskKV", "value")
    json_is_text = True

    def write(self, home: Path) -> Path:
        """Write the rows where the client would."""
        return self.write_editor(home)
