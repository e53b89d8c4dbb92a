"""Writes Claude Code session logs in their real shape, the same for the same seed."""

from __future__ import annotations

import hashlib
import json
import re
import uuid
from pathlib import Path
from typing import Any, Literal

from session_memory.clock import iso

Row = dict[str, Any]
"""One JSON record, of whatever shape Claude Code gives that type."""
Layout = Literal["main", "flat", "nested", "workflow"]

START = 1_772_442_000_000  # 2026-03-02T09:00:00Z
MODEL = "claude-sonnet-4-5-20250929"


def tokens(
    fresh: int = 100, output: int = 50, *, read: int = 0, write_5m: int = 0, write_1h: int = 0
) -> Row:
    """A `usage` object as the API reports it."""
    return {
        "input_tokens": fresh,
        "output_tokens": output,
        "cache_read_input_tokens": read,
        "cache_creation_input_tokens": write_5m + write_1h,
        "cache_creation": {
            "ephemeral_5m_input_tokens": write_5m,
            "ephemeral_1h_input_tokens": write_1h,
        },
        "service_tier": "standard",
    }


def text_block(text: str) -> Row:
    """What the assistant says."""
    return {"type": "text", "text": text}


def thinking_block(text: str, signature: str = "c2lnbmF0dXJl") -> Row:
    """What the assistant thinks; newer clients log an empty text with a signature."""
    return {"type": "thinking", "thinking": text, "signature": signature}


def call_block(call_id: str, name: str, given: Row) -> Row:
    """A tool call."""
    return {"type": "tool_use", "id": call_id, "name": name, "input": given}


class ClaudeLog:
    """One log file in the making: each method appends the records that such a step leaves behind.

        log = ClaudeLog(seed=7, cwd="/work/shop")
        log.prompt("fix the failing test")
        log.run("pytest -q", "1 failed", exit_code=1)
        log.write(home)  # home/projects/-work-shop/<session>.jsonl

    `branch`, `version`, `entrypoint` and `model` may be changed between steps, as in real life.
    """

    def __init__(self, seed: int = 1, *, cwd: str = "/work/shop", start: int = START) -> None:
        self.seed = seed
        self.cwd = cwd
        self.branch = "main"
        self.version = "2.1.98"
        self.entrypoint: str | None = "cli"
        self.model = MODEL
        self.rows: list[Row] = []
        self.layout: Layout = "main"
        self.agent_id: str | None = None
        self.now = start
        self._made = 0
        self._last: str | None = None
        self.session_id = self._uuid("session")

    # --- rows ---

    def raw(self, row: Row) -> Row:
        """Append a record as it is."""
        self.rows.append(row)
        return row

    def row(self, kind: str, **fields: Any) -> Row:
        """Append a record of the conversation tree, with its envelope."""
        self.now += 1000
        row: Row = {
            "parentUuid": self._last,
            "isSidechain": self.agent_id is not None,
            "userType": "external",
            "cwd": self.cwd,
            "sessionId": self.session_id,
            "version": self.version,
            "gitBranch": self.branch,
            "type": kind,
            "uuid": self._uuid("row"),
            "timestamp": iso(self.now),
        }
        if self.entrypoint:
            row["entrypoint"] = self.entrypoint
        if self.agent_id:
            row["agentId"] = self.agent_id
        self._last = row["uuid"]
        return self.raw({**row, **fields})

    def wait(self, seconds: float) -> None:
        """Let time pass before the next record."""
        self.now += round(seconds * 1000)

    # --- steps ---

    def prompt(self, content: str | list[Row], **fields: Any) -> Row:
        """A user record; flags such as `isMeta=True` make it the client's own."""
        return self.row("user", message={"role": "user", "content": content}, **fields)

    def reply(self, *blocks: Row, usage: Row | None = None, streamed: bool = False) -> list[Row]:
        """One API response: a record per block, each repeating id and usage.

        `streamed` is the habit before 2.1.98: all records but the last hold a placeholder.
        """
        usage = usage or tokens()
        message_id, request_id = self.new_id("msg_"), self.new_id("req_")
        rows: list[Row] = []
        for index, block in enumerate(blocks):
            last = index == len(blocks) - 1
            message = {
                "id": message_id,
                "type": "message",
                "role": "assistant",
                "model": self.model,
                "content": [block],
                "stop_reason": "end_turn" if last else None,
                "usage": {**usage, "output_tokens": 1} if streamed and not last else usage,
            }
            rows.append(self.row("assistant", message=message, requestId=request_id))
        return rows

    def say(self, text: str, usage: Row | None = None) -> Row:
        """The assistant answers with text."""
        return self.reply(text_block(text), usage=usage)[0]

    def think(self, text: str) -> Row:
        """The assistant thinks."""
        return self.reply(thinking_block(text))[0]

    def call(self, name: str, given: Row) -> str:
        """The assistant calls a tool; returns the call's id."""
        call_id = self.new_id("toolu_")
        self.reply(call_block(call_id, name, given))
        return call_id

    def result(
        self, call_id: str, content: str | list[Row], detail: Any = None, *, error: bool = False
    ) -> Row:
        """A tool answers; `detail` is the client's own structured copy (`toolUseResult`)."""
        block = {"tool_use_id": call_id, "type": "tool_result", "content": content}
        extra = {} if detail is None else {"toolUseResult": detail}
        return self.prompt([{**block, "is_error": error}], **extra)

    def run(self, command: str, output: str, exit_code: int = 0) -> str:
        """A shell command and its end, as the client logs success and failure."""
        call_id = self.call("Bash", {"command": command, "description": "run a command"})
        if exit_code:
            shown = f"Exit code {exit_code}\n{output}"
            self.result(call_id, shown, f"Error: {shown}", error=True)
        else:
            detail = {"stdout": output, "stderr": "", "interrupted": False, "isImage": False}
            self.result(call_id, output, detail)
        return call_id

    def read(self, path: str, content: str) -> str:
        """A file is read."""
        call_id = self.call("Read", {"file_path": path})
        detail = {"type": "text", "file": {"filePath": path, "content": content}}
        self.result(call_id, content, detail)
        return call_id

    def edit(self, path: str, old: str, new: str) -> str:
        """A file is changed."""
        call_id = self.call("Edit", {"file_path": path, "old_string": old, "new_string": new})
        detail = {"filePath": path, "oldString": old, "newString": new, "originalFile": old}
        self.result(call_id, f"The file {path} has been updated.", detail)
        return call_id

    def deny(self, name: str, given: Row) -> str:
        """A call the human refused."""
        call_id = self.call(name, given)
        words = "The user doesn't want to proceed with this tool use. The tool use was rejected."
        row = self.result(call_id, words, "User rejected tool use", error=True)
        row["toolDenialKind"] = "user-rejected"
        return call_id

    def compact(self, summary: str, *, trigger: str = "auto", before: int = 150_000) -> None:
        """The context is compacted: a boundary, then the summary in the user's name."""
        logical, self._last = self._last, None
        self.row(
            "system",
            subtype="compact_boundary",
            content="Conversation compacted",
            logicalParentUuid=logical,
            compactMetadata={"trigger": trigger, "preTokens": before},
        )
        head = "This session is being continued from a previous conversation. "
        self.prompt(head + summary, isCompactSummary=True, isVisibleInTranscriptOnly=True)

    def api_error(self, message: str, attempt: int = 1) -> Row:
        """A failed request that the client tries again."""
        return self.row(
            "system",
            subtype="api_error",
            level="error",
            error={"message": message, "formatted": message},
            retryAttempt=attempt,
            maxRetries=10,
        )

    def attach(self, kind: str, **fields: Any) -> Row:
        """An attachment of any type."""
        return self.row("attachment", attachment={"type": kind, **fields})

    def queue(self, text: str) -> None:
        """A prompt typed while the agent is busy: queued, then taken up as an attachment."""
        stamp = {"timestamp": iso(self.now), "sessionId": self.session_id}
        self.raw({"type": "queue-operation", "operation": "enqueue", **stamp, "content": text})
        self.raw({"type": "queue-operation", "operation": "dequeue", **stamp})
        self.attach("queued_command", prompt=text, commandMode="prompt")

    def sidechain(self, prompt: str, answer: str) -> None:
        """A sub-agent as 1.x logged it: in the main file, without an id of its own."""
        self.prompt(prompt)["isSidechain"] = True
        self.say(answer)["isSidechain"] = True

    def title(self, text: str, kind: Literal["custom", "ai", "summary"] = "custom") -> Row:
        """A title the user gave, the model made, or an old client summed up."""
        if kind == "summary":
            return self.raw({"type": "summary", "summary": text, "leafUuid": self._last})
        row = {"type": f"{kind}-title", f"{kind}Title": text, "sessionId": self.session_id}
        return self.raw(row)

    # --- other files ---

    def subagent(self, prompt: str, layout: Layout = "nested") -> ClaudeLog:
        """Start a sub-agent: the call goes here, its conversation into a log of its own."""
        given = {"description": "delegate", "prompt": prompt, "subagent_type": "general-purpose"}
        self.call("Task", given)
        child = ClaudeLog(self.seed, cwd=self.cwd, start=self.now)
        child.session_id, child.layout = self.session_id, layout
        child.agent_id = self.new_id("a")[:17]
        child.branch, child.version, child.entrypoint = self.branch, self.version, self.entrypoint
        child.seed = int(hashlib.sha256(child.agent_id.encode()).hexdigest()[:8], 16)
        child.prompt(prompt)
        return child

    def repeat(self, child: ClaudeLog) -> None:
        """Repeat what a sub-agent says, as versions 2.0 and 2.1 do while it runs."""
        names = ("type", "message", "uuid", "timestamp", "requestId", "toolUseResult")
        for row in child.rows:
            message = {name: row[name] for name in names if name in row}
            data = {"type": "agent_progress", "message": message, "agentId": child.agent_id}
            self.row("progress", data=data, toolUseID="agent_msg_1")

    def fork(self, seed: int) -> ClaudeLog:
        """A new session that begins with a copy of this one and says so."""
        copy = self.resume_copy(seed)
        copy.rows = [
            {**row, "forkedFrom": {"sessionId": self.session_id, "messageUuid": row["uuid"]}}
            for row in copy.rows
            if "uuid" in row
        ]
        return copy

    def resume_copy(self, seed: int) -> ClaudeLog:
        """What old clients do on resume: a new file that repeats history under a new session id."""
        copy = ClaudeLog(seed, cwd=self.cwd, start=self.now)
        copy.branch, copy.version, copy.entrypoint = self.branch, self.version, self.entrypoint
        copy.rows = [
            {**row, "sessionId": copy.session_id} if "sessionId" in row else dict(row)
            for row in self.rows
        ]
        copy._last = self._last
        return copy

    def dump(self) -> bytes:
        """The file's content."""
        lines = (json.dumps(row, ensure_ascii=False, separators=(",", ":")) for row in self.rows)
        return "".join(f"{line}\n" for line in lines).encode()

    def path(self, home: Path) -> Path:
        """Where Claude Code would put this log below its home."""
        project = home / "projects" / re.sub(r"[^A-Za-z0-9]", "-", self.cwd)
        name = f"agent-{self.agent_id}.jsonl"
        below = project / self.session_id / "subagents"
        if self.layout == "flat":
            return project / name
        if self.layout == "nested":
            return below / name
        if self.layout == "workflow":
            return below / "workflows" / "wf_1" / name
        return project / f"{self.session_id}.jsonl"

    def write(self, home: Path) -> Path:
        """Write the log in the native layout and return its path."""
        path = self.path(home)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(self.dump())
        return path

    def new_id(self, prefix: str) -> str:
        """The next id with a vendor's prefix."""
        return prefix + self._uuid(prefix).replace("-", "")[:24]

    def _uuid(self, what: str) -> str:
        self._made += 1
        seed = f"{self.seed}:{what}:{self._made}".encode()
        return str(uuid.UUID(bytes=hashlib.sha256(seed).digest()[:16], version=4))
