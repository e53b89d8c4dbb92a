"""Writes pi session files in their real shape, the same for the same seed."""

from __future__ import annotations

import copy
import json
import random
from pathlib import Path
from typing import Any

from session_memory.clock import iso

Row = dict[str, Any]
"""One JSON record, of whatever shape pi gives that type."""

START = 1_782_100_000_000  # 2026-06-22T03:46:40Z
MODEL = "claude-sonnet-4-5"


def spent(given: int = 100, output: int = 20, *, read: int = 0, usd: float = 0.0) -> Row:
    """A `usage` object as pi writes it: input does not hold what came from the cache."""
    return {
        "input": given,
        "output": output,
        "cacheRead": read,
        "cacheWrite": 0,
        "totalTokens": given + output + read,
        "cost": {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": usd},
    }


class PiLog:
    """One session file in the making: each method appends the entries such a step leaves behind.

        log = PiLog(seed=7)
        log.prompt("fix the failing test")
        log.run("pytest -q", "1 failed", exit_code=1)
        log.write(home)  # home/sessions/--work-shop--/<time>_<session>.jsonl

    `rows` is the file to be; a test may change it.
    """

    def __init__(self, seed: int = 1, *, cwd: str = "/work/shop", version: int = 3) -> None:
        self._chance = random.Random(seed)
        self.now = START + seed * 1000
        self.cwd = cwd
        self.version = version
        self.session_id = self._uuid()
        self.leaf: str | None = None
        header: Row = {"type": "session", "id": self.session_id, "timestamp": iso(self.now)}
        self.rows: list[Row] = [{**header, "cwd": cwd}]
        if version > 1:
            self.rows[0]["version"] = version
        self.opened = self.now

    def _hex(self, digits: int) -> str:
        return f"{self._chance.getrandbits(digits * 4):0{digits}x}"

    def _uuid(self) -> str:
        return "-".join((self._hex(8), self._hex(4), self._hex(4), self._hex(4), self._hex(12)))

    # --- entries ---

    def entry(self, kind: str, **fields: Any) -> str:
        """Append an entry behind the leaf; gives its id."""
        self.now += 500
        name = self._hex(8)
        place: Row = {"id": name, "parentId": self.leaf} if self.version > 1 else {}
        self.rows.append({"type": kind, **place, "timestamp": iso(self.now), **fields})
        self.leaf = name
        return name

    def message(self, role: str, **fields: Any) -> str:
        """Append a message; gives its entry's id."""
        return self.entry("message", message={"role": role, **fields, "timestamp": self.now + 490})

    def prompt(self, text: str) -> str:
        """What the user typed."""
        return self.message("user", content=[{"type": "text", "text": text}])

    def answer(self, *blocks: Row | str, usage: Row | None = None, **fields: Any) -> str:
        """An answer of texts and other blocks."""
        content = [b if isinstance(b, dict) else {"type": "text", "text": b} for b in blocks]
        base: Row = {"api": "anthropic-messages", "provider": "anthropic", "model": MODEL}
        base |= {"usage": usage or spent(), "stopReason": "stop", **fields}
        return self.message("assistant", content=content, **base)

    def tool(self, name: str, given: Row, text: str, *, failed: bool = False) -> str:
        """A call and its result; gives the call's id."""
        call_id = f"call_{self._hex(12)}"
        block: Row = {"type": "toolCall", "id": call_id, "name": name, "arguments": given}
        self.answer(block, stopReason="toolUse")
        content = [{"type": "text", "text": text}]
        self.message(
            "toolResult", toolCallId=call_id, toolName=name, content=content, isError=failed
        )
        return call_id

    def run(self, command: str, text: str, exit_code: int = 0) -> str:
        """A command the agent ran."""
        said = f"{text}\n\nCommand exited with code {exit_code}" if exit_code else text
        return self.tool("bash", {"command": command}, said, failed=exit_code != 0)

    def shell(self, command: str, text: str, exit_code: int = 0) -> str:
        """A command the user ran, with `!`."""
        rest: Row = {"exitCode": exit_code, "cancelled": False, "truncated": False}
        return self.message("bashExecution", command=command, output=text, **rest)

    def compact(self, summary: str) -> str:
        """The context condensed."""
        return self.entry(
            "compaction", summary=summary, firstKeptEntryId=self.leaf, tokensBefore=5000
        )

    def back_to(self, entry: str | None, summary: str = "") -> None:
        """Go back: what comes next begins a new branch behind that entry."""
        left, self.leaf = self.leaf, entry
        if summary:
            self.entry("branch_summary", fromId=left, summary=summary)

    def fork(self, seed: int, upto: int | None = None) -> PiLog:
        """A new file that begins with a copy of this one's entries."""
        other = PiLog(seed, cwd=self.cwd, version=self.version)
        other.now = other.opened = self.now + 60_000
        other.rows[0]["timestamp"] = iso(other.now)
        other.rows[0]["parentSession"] = f"/elsewhere/{self.file_name}"
        other.rows += copy.deepcopy(self.rows[1:upto])
        other.leaf = other.rows[-1].get("id")
        return other

    # --- files ---

    @property
    def file_name(self) -> str:
        """As pi names it: the time it was opened, and the session."""
        time = (iso(self.opened) or "").replace(":", "-").replace(".", "-")
        return f"{time}_{self.session_id}.jsonl"

    def dump(self) -> bytes:
        """The file's bytes."""
        return "".join(json.dumps(row) + "\n" for row in self.rows).encode()

    def path(self, home: Path) -> Path:
        """Where pi would put it below its home."""
        folder = "--" + self.cwd.strip("/").replace("/", "-") + "--"
        return home / "sessions" / folder / self.file_name

    def write(self, home: Path, rows: int | None = None) -> Path:
        """Write the file, or its first rows."""
        path = self.path(home)
        path.parent.mkdir(parents=True, exist_ok=True)
        lines = self.dump().splitlines(keepends=True)
        path.write_bytes(b"".join(lines[:rows]))
        return path
