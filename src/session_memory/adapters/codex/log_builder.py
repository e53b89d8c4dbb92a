"""Writes Codex rollout files in the shapes they have had since 2025, the same for the same seed."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any, Literal

from session_memory.clock import iso

Row = dict[str, Any]
"""One JSON record, of whatever shape Codex gives that type."""
Mode = Literal["legacy", "paginated"]

START = 1_782_000_000_000  # 2026-06-21T00:00:00Z
MODEL = "gpt-5.5-codex"


def uuid7(at: int, *salt: object) -> str:
    """An id of version 7, as Codex gives threads and turns: its first 48 bits are a time."""
    rest = hashlib.sha256(repr(salt).encode()).hexdigest()
    time = f"{at:012x}"
    return f"{time[:8]}-{time[8:]}-7{rest[:3]}-8{rest[3:6]}-{rest[6:18]}"


def stamp(at: int) -> str:
    """A time as Codex writes it."""
    return iso(at) or ""


def tokens(given: int, cached: int = 0, output: int = 0, reasoning: int = 0) -> Row:
    """A token count as Codex writes it: cached is part of input, reasoning of output."""
    return {
        "input_tokens": given,
        "cached_input_tokens": cached,
        "output_tokens": output,
        "reasoning_output_tokens": reasoning,
        "total_tokens": given + output,
    }


def message(role: str, *texts: str) -> Row:
    """A message as the model sees it."""
    kind = "output_text" if role == "assistant" else "input_text"
    content = [{"type": kind, "text": text} for text in texts]
    return {"type": "message", "role": role, "content": content}


def call(call_id: str, name: str, given: Row, namespace: str | None = None) -> Row:
    """A tool call; its arguments are JSON inside a string."""
    row = {"type": "function_call", "name": name, "arguments": json.dumps(given)}
    return {**row, "call_id": call_id, **({"namespace": namespace} if namespace else {})}


def output(call_id: str, text: Any) -> Row:
    """What a tool gave back."""
    return {"type": "function_call_output", "call_id": call_id, "output": text}


def exec_text(text: str, exit_code: int) -> str:
    """The header that unified exec puts before a command's output."""
    return (
        f"Chunk ID: 1800b5\nWall time: 0.0120 seconds\nProcess exited with code {exit_code}\n"
        f"Original token count: 7\nOutput:\n{text}"
    )


class CodexLog:
    """One rollout in the making: each method appends the rows that such a step leaves behind.

    log = CodexLog(seed=7, cwd="/work/shop")
    log.prompt("fix the failing test")
    log.run("pytest -q", "1 failed", exit_code=1)
    log.write(home)  # home/sessions/2026/06/21/rollout-...-<thread>.jsonl
    """

    def __init__(
        self, seed: int = 0, cwd: str = "/work/shop", mode: Mode = "legacy", at: int = START
    ) -> None:
        self.seed, self.cwd, self.mode = seed, cwd, mode
        self.at = self.made_at = at
        self.thread = uuid7(at, "thread", seed)
        self.rows: list[Row] = []
        self.spent = tokens(0)
        self._serial = 0

    def row(self, kind: str, payload: Row, **extra: Any) -> None:
        """Append one row, 10 ms after the last."""
        self.at += 10
        numbered = {"ordinal": len(self.rows)} if self.mode == "paginated" else {}
        self.rows.append(
            {"timestamp": stamp(self.at), **numbered, "type": kind, "payload": payload, **extra}
        )

    def item(self, payload: Row, **extra: Any) -> None:
        """Append something the model sees."""
        self.row("response_item", payload, **extra)

    def event(self, kind: str, **fields: Any) -> None:
        """Append something the client says."""
        self.row("event_msg", {"type": kind, **fields})

    def finished(self, kind: str, **fields: Any) -> None:
        """Append a finished item, as paginated threads have them."""
        self.event("item_completed", thread_id=self.thread, item={"type": kind, **fields})

    def name(self, what: str) -> str:
        """A new id."""
        self._serial += 1
        return f"{what}_{self.seed}_{self._serial}"

    def header(self, **fields: Any) -> CodexLog:
        """The first row of a file."""
        payload = {
            "id": self.thread,
            "timestamp": stamp(self.made_at),
            "cwd": self.cwd,
            "originator": "codex-tui",
            "cli_version": "0.142.4" if self.mode == "legacy" else "0.166.0",
            "source": "cli",
            "base_instructions": {"text": "You are a coding agent." * 100},
            "git": {"commit_hash": "a" * 40, "branch": "main"},
            "history_mode": self.mode,
        }
        self.row("session_meta", {**payload, **fields})
        return self

    def turn(self, model: str = MODEL) -> CodexLog:
        """A turn begins."""
        turn_id = uuid7(self.at + 10, "turn", self.seed, len(self.rows))
        self.event("task_started", turn_id=turn_id, started_at=(self.at + 10) // 1000)
        self.row("turn_context", {"turn_id": turn_id, "cwd": self.cwd, "model": model})
        return self

    def prompt(self, text: str) -> CodexLog:
        """What the human typed, in both its forms."""
        self.item(message("user", text))
        if self.mode == "legacy":
            self.event("user_message", message=text, images=[])
        else:
            self.finished("UserMessage", content=[{"type": "text", "text": text}])
        return self

    def answer(self, text: str) -> CodexLog:
        """What the model said, in both its forms."""
        if self.mode == "legacy":
            self.event("agent_message", message=text)
        else:
            self.finished("AgentMessage", content=[{"type": "Text", "text": text}])
        self.item(message("assistant", text))
        return self

    def run(self, command: str, text: str = "", exit_code: int = 0) -> CodexLog:
        """A command and its output."""
        call_id = self.name("call")
        self.item(call(call_id, "exec_command", {"cmd": command}))
        if self.mode == "paginated":
            self.finished(
                "CommandExecution",
                id=call_id,
                command=["/bin/bash", "-lc", command],
                status="failed" if exit_code else "completed",
                aggregated_output=text,
                exit_code=exit_code,
            )
        self.item(output(call_id, exec_text(text, exit_code)))
        return self

    def spend(self, last: Row, *, record: bool = False) -> CodexLog:
        """A response was paid for: exactly, where the version records it, and cumulatively."""
        self.spent = {name: self.spent[name] + last[name] for name in last}
        if record:
            payload = {"response_id": self.name("resp"), "usage": last}
            self.row("token_usage_record", {**payload, "thread_token_usage": self.spent})
        return self.count(last)

    def count(self, last: Row) -> CodexLog:
        """Tell the cumulative count, as clients do again and again."""
        info = {"total_token_usage": self.spent, "last_token_usage": last}
        self.event("token_count", info=info, rate_limits=None)
        return self

    def fork(self, seed: int, *, restamped: bool = True) -> CodexLog:
        """A legacy fork: its own header, then a copy of every row, stamped anew or as it was."""
        child = CodexLog(seed, self.cwd, "legacy", self.at + 60_000)
        child.header(forked_from_id=self.thread)
        for row in self.rows:
            child.at += 0 if restamped else 10
            child.rows.append({**row, "timestamp": stamp(child.at)} if restamped else row)
        child.spent = self.spent
        return child

    def dump(self) -> bytes:
        """The file's content."""
        return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in self.rows).encode()

    def path(self, home: Path) -> Path:
        """Where Codex would keep it."""
        day, _, time = stamp(self.made_at)[:19].partition("T")
        name = f"rollout-{day}T{time.replace(':', '-')}-{self.thread}.jsonl"
        return home.joinpath("sessions", *day.split("-"), name)

    def write(self, home: Path) -> Path:
        """Write it below a Codex home."""
        path = self.path(home)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(self.dump())
        return path
