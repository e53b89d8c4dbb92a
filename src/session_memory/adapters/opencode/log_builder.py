"""Writes OpenCode sessions in their real shapes: database, older storage, export."""

from __future__ import annotations

import copy
import hashlib
import json
import sqlite3
from pathlib import Path
from typing import Any

Row = dict[str, Any]
"""One JSON record, of whatever shape OpenCode gives it."""

START = 1_772_442_000_000  # 2026-03-02T09:00:00Z
MODEL = "claude-sonnet-4-5"
VERSION = "1.18.33"

_SCHEMA = """
CREATE TABLE IF NOT EXISTS session (id text PRIMARY KEY, project_id text NOT NULL, parent_id text,
  slug text NOT NULL, directory text NOT NULL, title text NOT NULL, version text NOT NULL,
  permission text, agent text, revert text, time_created integer NOT NULL,
  time_updated integer NOT NULL);
CREATE TABLE IF NOT EXISTS message (id text PRIMARY KEY, session_id text NOT NULL,
  time_created integer NOT NULL, time_updated integer NOT NULL, data text NOT NULL);
CREATE TABLE IF NOT EXISTS part (id text PRIMARY KEY, message_id text NOT NULL,
  session_id text NOT NULL, time_created integer NOT NULL, time_updated integer NOT NULL,
  data text NOT NULL);
CREATE INDEX IF NOT EXISTS message_session_time_created_id_idx
  ON message (session_id, time_created, id);
CREATE INDEX IF NOT EXISTS part_message_id_id_idx ON part (message_id, id);
CREATE INDEX IF NOT EXISTS part_session_idx ON part (session_id);
"""
_REPLACE = """ON CONFLICT (id) DO UPDATE SET data = excluded.data, time_updated =
  excluded.time_updated WHERE data <> excluded.data"""


def token_row(fresh: int, output: int, *, read: int = 0, write: int = 0, reasoning: int = 0) -> Row:
    """Tokens as a step states them: reasoning is apart from the output, the total adds all."""
    return {
        "total": fresh + output + reasoning + read + write,
        "input": fresh,
        "output": output,
        "reasoning": reasoning,
        "cache": {"read": read, "write": write},
    }


def connect(home: Path) -> sqlite3.Connection:
    """The client's own connection to its database, made if there is none; the caller closes it."""
    home.mkdir(parents=True, exist_ok=True)
    db = sqlite3.connect(home / "opencode.db")
    db.execute("PRAGMA journal_mode = wal")
    db.executescript(_SCHEMA)
    return db


class OpenCodeLog:
    """One session in the making: each method leaves what such a step leaves behind.

        log = OpenCodeLog(seed=7, cwd="/work/shop")
        log.prompt("fix the failing test")
        log.run("pytest -q", "1 failed", exit_code=1)
        log.end_step(token_row(100, 20), cost=0.25)
        log.write(home)  # rows in home/opencode.db

    `info` and `messages` are the records to be; a test may change them.
    """

    def __init__(
        self, seed: int = 1, *, cwd: str = "/work/shop", start: int = START, parent: str = ""
    ) -> None:
        self.seed = seed
        self.cwd = cwd
        self.now = start
        self._made = 0
        self.session_id = self._id("ses")
        self.info: Row = {
            "id": self.session_id,
            "slug": "calm-river",
            "projectID": "global",
            "directory": cwd,
            "title": f"Session {seed}",
            "version": VERSION,
            "time": {"created": start, "updated": start},
        }
        if parent:
            self.info["parentID"] = parent
        self.messages: list[tuple[Row, list[Row]]] = []

    # --- turns ---

    def prompt(self, text: str, **fields: Any) -> Row:
        """A message of the user; `fields` go into its text part (synthetic=True)."""
        self._close()
        self._message({"role": "user", "agent": "build"})
        return self.part({"type": "text", "text": text, **fields})

    def say(self, text: str) -> Row:
        """A text of the agent."""
        return self._answer({"type": "text", "text": text, "time": self._span()})

    def think(self, text: str) -> Row:
        """A thought of the agent."""
        return self._answer({"type": "reasoning", "text": text, "time": self._span()})

    def tool(
        self, name: str, given: Row, output: str = "", *, error: str = "", **metadata: Any
    ) -> Row:
        """A tool call that ended, well or with an error."""
        ended: Row = {"status": "error", "error": error} if error else {"status": "completed"}
        if not error:
            ended |= {"output": output, "title": "", "metadata": metadata}
        state = {**ended, "input": given, "time": self._span()}
        call_id = "call_" + self._hash("call", self._made)[:20]
        return self._answer({"type": "tool", "tool": name, "callID": call_id, "state": state})

    def run(self, command: str, output: str, exit_code: int = 0) -> Row:
        """A shell command."""
        return self.tool("bash", {"command": command}, output, exit=exit_code)

    def edit(self, path: str, old: str, new: str) -> Row:
        """An edit of a file, and the patch part that follows it."""
        given = {"filePath": path, "oldString": old, "newString": new}
        part = self.tool("edit", given, "Edit applied successfully.")
        self._answer({"type": "patch", "hash": self._hash("patch", self._made), "files": [path]})
        return part

    def plan(self, *todos: tuple[str, str]) -> Row:
        """The whole plan, as (content, status) pairs."""
        rows = [{"content": what, "status": how, "priority": "high"} for what, how in todos]
        return self.tool("todowrite", {"todos": rows}, json.dumps(rows))

    def end_step(self, tokens: Row, *, cost: float = 0, reason: str = "tool-calls") -> None:
        """The end of one response of the model."""
        self._answer({"type": "step-finish", "reason": reason, "tokens": tokens, "cost": cost})
        info = self.messages[-1][0]
        info |= {"tokens": tokens, "cost": cost, "finish": reason}
        self._close()

    def fail(self, name: str, message: str) -> None:
        """The answer ends in an error."""
        self._open()
        self.messages[-1][0]["error"] = {"name": name, "data": {"message": message}}
        self._close()

    def compact(self, summary: str, tokens: Row) -> None:
        """The context is condensed, and the summary is an answer of its own."""
        self._close()
        self._message({"role": "user", "agent": "build"})
        self.part({"type": "compaction", "auto": True})
        self._open({"summary": True, "mode": "compaction", "agent": "compaction"})
        self.say(summary)
        self.end_step(tokens, reason="stop")

    # --- relatives and earlier states ---

    def spawn(self, seed: int, prompt: str) -> OpenCodeLog:
        """A sub-agent: a session of its own, and the call that started it."""
        child = OpenCodeLog(seed, cwd=self.cwd, start=self.now + 1, parent=self.session_id)
        self.tool("task", {"prompt": prompt, "subagent_type": "general"}, "done")
        child.prompt(prompt)
        return child

    def fork(self, seed: int) -> OpenCodeLog:
        """A copy under new ids: times and texts stay."""
        self._close()
        fork = OpenCodeLog(seed, cwd=self.cwd, start=self.now + 1000)
        for info, parts in copy.deepcopy(self.messages):
            renamed = {**info, "id": fork._id("msg"), "sessionID": fork.session_id}
            own = {"sessionID": fork.session_id, "messageID": renamed["id"]}
            fork.messages.append((renamed, [{**p, **own, "id": fork._id("prt")} for p in parts]))
        return fork

    def until(self, parts: int) -> OpenCodeLog:
        """The session when only so many parts were there, the last of them half done."""
        early = copy.deepcopy(self)
        early.messages = []
        for info, held in copy.deepcopy(self.messages):
            if parts <= 0:
                break
            whole = len(held) <= parts
            shown = held[:parts]
            parts -= len(held)
            if not whole:
                info = {k: v for k, v in info.items() if k not in ("tokens", "cost", "finish")}
                info["time"] = {"created": info["time"]["created"]}
                _halve(shown[-1])
            early.messages.append((info, shown))
        early.info["time"]["updated"] = self.info["time"]["created"] + len(early.messages)
        return early

    # --- writing ---

    def write(self, home: Path) -> Path:
        """Store the session in the database of a data directory."""
        db = connect(home)
        try:
            self.store(db)
        finally:
            db.close()
        return home / "opencode.db"

    def store(self, db: sqlite3.Connection) -> None:
        """Make the rows of an open database say what this session says, in one transaction."""
        self._close()
        info, time = self.info, self.info["time"]
        with db:
            db.execute("DELETE FROM session WHERE id = ?", (self.session_id,))
            row = (self.session_id, "global", info.get("parentID"), info["slug"])
            row += (info["directory"], info["title"], info["version"])
            row += (_text(info.get("permission")), info.get("agent"), _text(info.get("revert")))
            marks = ",".join("?" * 12)
            row += (time["created"], time["updated"])
            db.execute(f"INSERT INTO session VALUES ({marks})", row)
            stored_ids = [item["id"] for held, parts in self.messages for item in (held, *parts)]
            for table in ("message", "part"):
                rows = db.execute(
                    f"SELECT id FROM {table} WHERE session_id = ?", (self.session_id,)
                )
                gone = [(name,) for (name,) in rows if name not in stored_ids]
                db.executemany(f"DELETE FROM {table} WHERE id = ?", gone)
            for held, parts in self.messages:
                self._store_message(db, held, parts)

    def _store_message(self, db: sqlite3.Connection, info: Row, parts: list[Row]) -> None:
        at, name = info["time"]["created"], info["id"]
        query = f"INSERT INTO message VALUES (?, ?, ?, ?, ?) {_REPLACE}"
        db.execute(query, (name, self.session_id, at, self.now, _data(info)))
        query = f"INSERT INTO part VALUES (?, ?, ?, ?, ?, ?) {_REPLACE}"
        rows = [(p["id"], name, self.session_id, at, self.now, _data(p)) for p in parts]
        db.executemany(query, rows)

    def write_files(self, home: Path) -> Path:
        """Write the session as clients before 1.2 did: a file each."""
        self._close()
        storage = home / "storage"
        for info, parts in self.messages:
            _put(storage / "message" / self.session_id / f"{info['id']}.json", info)
            for part in parts:
                _put(storage / "part" / info["id"] / f"{part['id']}.json", part)
        return _put(storage / "session" / "global" / f"{self.session_id}.json", self.info)

    def export(self, path: Path) -> Path:
        """Write what `opencode export` prints."""
        self._close()
        messages = [{"info": info, "parts": parts} for info, parts in self.messages]
        return _put(path, {"info": self.info, "messages": messages})

    # --- rows ---

    def part(self, fields: Row) -> Row:
        """Add a part, of any type, to the last message."""
        message = self.messages[-1][0]
        row = {"id": self._id("prt"), "sessionID": self.session_id, "messageID": message["id"]}
        row |= fields
        self.messages[-1][1].append(row)
        return row

    def _answer(self, fields: Row) -> Row:
        self._open()
        return self.part(fields)

    def _open(self, fields: Row | None = None) -> None:
        """An answer of the agent, unless one is being written."""
        last = self.messages[-1][0] if self.messages else {}
        if last.get("role") == "assistant" and "completed" not in last["time"] and not fields:
            return
        self._close()
        path = {"cwd": self.cwd, "root": self.cwd}
        own = {"role": "assistant", "mode": "build", "modelID": MODEL, "providerID": "anthropic"}
        self._message({**own, "path": path, "cost": 0, "tokens": token_row(0, 0), **(fields or {})})
        self.part({"type": "step-start", "snapshot": self._hash("snapshot", self._made)})

    def _close(self) -> None:
        last = self.messages[-1][0] if self.messages else {}
        if last.get("role") == "assistant" and "completed" not in last["time"]:
            last["time"]["completed"] = self._tick()
        self.info["time"]["updated"] = max(self.now, self.info["time"]["updated"])

    def _message(self, fields: Row) -> None:
        row = {"id": self._id("msg"), "sessionID": self.session_id, **fields}
        self.messages.append(({**row, "time": {"created": self._tick()}}, []))

    def _span(self) -> Row:
        return {"start": self._tick(), "end": self._tick()}

    def _tick(self) -> int:
        self.now += 137
        return self.now

    def _id(self, kind: str) -> str:
        """Ids of OpenCode: a time, so that they sort, and something that makes them unique."""
        self._made += 1
        return (
            f"{kind}_{self.now * 4096 + self._made:013x}"[:18] + self._hash(kind, self._made)[:12]
        )

    def _hash(self, kind: str, number: int) -> str:
        return hashlib.sha1(f"{self.seed}/{kind}/{number}".encode()).hexdigest()


def _halve(part: Row) -> None:
    """A part while it is being written: half a text, a call without its result."""
    if "text" in part:
        part["text"] = part["text"][: len(part["text"]) // 2]
    if "state" in part:
        state = part["state"]
        begun = {"start": state["time"]["start"]}
        part["state"] = {"status": "running", "input": state["input"], "time": begun}


def _data(record: Row) -> str:
    """A record as its row holds it: the ids are columns."""
    named = ("id", "sessionID", "messageID")
    return json.dumps({k: v for k, v in record.items() if k not in named}, ensure_ascii=False)


def _text(value: object) -> str | None:
    return None if value is None else json.dumps(value)


def _put(path: Path, record: Row) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(record, indent=2), encoding="utf-8")
    return path
