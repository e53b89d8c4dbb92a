"""Writes Kimi sessions in the shape of Kimi Code, and in that of the older CLI."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

Row = dict[str, Any]

START = 1_772_442_000_000  # 2026-03-02T09:00:00Z
MODEL = "kimi-for-coding"


class KimiLog:
    """One agent's log in the making: each method appends the records such a step leaves behind.

        log = KimiLog(seed=7)
        log.prompt("fix the failing test")
        log.run("pytest -q", "1 failed", exit_code=1)
        log.write(home)  # home/sessions/wd_.../session_.../agents/main/wire.jsonl

    `rows` are the records to be, `state` the file next to them; a test may change both.
    """

    def __init__(self, seed: int = 1, *, cwd: str = "/work/shop", agent: str = "main") -> None:
        self.now = START + seed * 100_000
        self.session_id = f"00000000-0000-4000-8000-{seed:012x}"
        self.cwd = cwd
        self.agent = agent
        self.state: Row = {"id": self.session_id, "cwd": cwd, "createdAt": self.now}
        self.rows: list[Row] = []
        self.row("config.update", cwd=cwd, modelAlias=MODEL)
        self._calls = 0

    def row(self, kind: str, **more: Any) -> Row:
        """Append a record."""
        self.now += 137
        row = {"type": kind, "time": self.now, **more}
        self.rows.append(row)
        return row

    def event(self, kind: str, **more: Any) -> None:
        """Append an event of the agent's loop."""
        self.row("context.append_loop_event", event={"type": kind, **more})

    def prompt(self, text: str) -> None:
        """What the user typed."""
        self.row("turn.prompt", input=[{"type": "text", "text": text}])
        self.row("context.append_message", message={"role": "user", "content": text})

    def say(self, text: str, *, thought: str = "") -> None:
        """An answer."""
        self.event("step.begin")
        if thought:
            self.event("content.part", part={"type": "think", "think": thought})
        self.event("content.part", part={"type": "text", "text": text})
        self.end_step()

    def tool(self, name: str, given: Row, text: str, *, is_error: bool = False) -> None:
        """A call and its result, before the end of its step."""
        self._calls += 1
        call_id = f"call-{self._calls}"
        self.event("step.begin")
        self.event("tool.call", toolCallId=call_id, name=name, args=given)
        result = {"output": text, "isError": is_error}
        self.event("tool.result", toolCallId=call_id, result=result)
        self.end_step()

    def run(self, command: str, text: str, exit_code: int = 0) -> None:
        """A command; the log has no exit code but in words."""
        said = f"{text}\nCommand failed with exit code: {exit_code}." if exit_code else text
        self.tool("Shell", {"command": command}, said, is_error=bool(exit_code))

    def end_step(self, spent: tuple[int, int, int, int] = (100, 20, 30, 40)) -> None:
        """The end of a step with its tokens, which another record repeats."""
        names = ("inputOther", "output", "inputCacheRead", "inputCacheCreation")
        usage = dict(zip(names, spent, strict=True))
        self.event("step.end", model=MODEL, finishReason="stop", usage=usage)
        self.row("usage.record", model=MODEL, usage=usage)

    def undo(self, count: int = 1) -> None:
        """The user takes back turns."""
        self.row("context.undo", count=count)

    def write(self, home: Path) -> Path:
        """Write the log where Kimi Code would."""
        digest = hashlib.sha256(self.cwd.encode()).hexdigest()[:12]
        session = home / "sessions" / f"wd_shop_{digest}" / f"session_{self.session_id}"
        folder = session / "agents" / self.agent
        folder.mkdir(parents=True, exist_ok=True)
        (session / "state.json").write_text(json.dumps(self.state))
        return _write(folder / "wire.jsonl", self.rows)

    def write_old(self, home: Path, *messages: tuple[str, Row]) -> Path:
        """Write messages of the older CLI where it would, and its list of folders."""
        digest = hashlib.md5(self.cwd.encode(), usedforsecurity=False).hexdigest()
        folder = home / "sessions" / digest / self.session_id
        folder.mkdir(parents=True, exist_ok=True)
        (home / "kimi.json").write_text(json.dumps({"work_dirs": [{"path": self.cwd}]}))
        (folder / "context.jsonl").write_text('{"role": "user", "content": "once more"}\n')
        start = {"type": "metadata", "protocol_version": "1.1"}
        rows = [
            {"timestamp": self.now / 1000 + n, "message": {"type": kind, "payload": payload}}
            for n, (kind, payload) in enumerate(messages)
        ]
        return _write(folder / "wire.jsonl", [start, *rows])


def _write(path: Path, rows: list[Row]) -> Path:
    lines = (json.dumps(row, ensure_ascii=False) for row in rows)
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path
