"""Writes Qwen Code session logs in their real shape, the same for the same seed."""

from __future__ import annotations

import json
import uuid
from pathlib import Path
from typing import Any

from session_memory.clock import iso

Row = dict[str, Any]
"""One JSON record, of whatever shape Qwen Code gives that type."""

START = 1_772_442_000_000  # 2026-03-02T09:00:00Z
MODEL = "qwen3-coder-plus"
VERSION = "0.24.4"


def usage(fresh: int = 100, output: int = 20, *, cached: int = 0, thoughts: int = 0) -> Row:
    """A `usageMetadata` object: the prompt holds what came from the cache."""
    return {
        "promptTokenCount": fresh + cached,
        "candidatesTokenCount": output,
        "thoughtsTokenCount": thoughts,
        "totalTokenCount": fresh + cached + output + thoughts,
        "cachedContentTokenCount": cached,
    }


class QwenLog:
    """One session log in the making: each method leaves the records that such a step leaves behind.

        log = QwenLog(seed=7, cwd="/work/shop")
        log.prompt("fix the failing test")
        log.run("pytest -q", "1 failed", exit_code=1)
        log.write(home)  # home/projects/-work-shop/chats/<session>.jsonl

    `rows` are the lines to be; a test may change them.
    """

    def __init__(self, seed: int = 1, *, cwd: str = "/work/shop", start: int = START) -> None:
        self.seed = seed
        self.cwd = cwd
        self.now = start
        self.rows: list[Row] = []
        self.telemetry = True
        """False for builds that state usage only with the answer."""
        self._made = 0
        self.session_id = self._uuid("session")
        self.envelope: Row = {"cwd": cwd, "version": VERSION, "gitBranch": "main"}
        self.agent_id: str | None = None
        self.meta: Row = {}

    # --- rows ---

    def _uuid(self, what: str) -> str:
        self._made += 1
        return str(uuid.uuid5(uuid.NAMESPACE_URL, f"qwen/{self.seed}/{self._made}/{what}"))

    def row(self, kind: str, **fields: Any) -> Row:
        """Append a record of any type."""
        self.now += 1000
        row: Row = {
            "uuid": self._uuid(kind),
            "parentUuid": self.rows[-1]["uuid"] if self.rows else None,
            "sessionId": self.session_id,
            "timestamp": iso(self.now),
            "type": kind,
            **self.envelope,
            **fields,
        }
        self.rows.append(row)
        return row

    def system(self, subtype: str, **payload: Any) -> Row:
        """What the client says about itself."""
        return self.row("system", provenance="system", subtype=subtype, systemPayload=payload)

    # --- a conversation ---

    def prompt(self, text: str, **fields: Any) -> Row:
        """A text under the user's role; typed by the human unless the fields say otherwise."""
        message = {"role": "user", "parts": [{"text": text}]}
        return self.row("user", **{"provenance": "real_user", "message": message, **fields})

    def answer(self, *parts: Row, spent: Row | None = None) -> Row:
        """One response of the model, and before it the telemetry that states its cost too."""
        spent = usage() if spent is None else spent
        if self.telemetry and self.agent_id is None:
            self.response(spent)
        message = {"role": "model", "parts": list(parts)}
        fields: Row = {} if self.agent_id else {"model": MODEL, "provenance": "assistant_output"}
        return self.row("assistant", message=message, usageMetadata=spent, **fields)

    def response(self, spent: Row, **fields: Any) -> Row:
        """Telemetry of one response."""
        event = {
            "event.name": "qwen-code.api_response",
            "response_id": f"chatcmpl-{self._uuid('response')[:8]}",
            "model": MODEL,
            "input_token_count": spent["promptTokenCount"],
            "output_token_count": spent["candidatesTokenCount"],
            "cached_content_token_count": spent["cachedContentTokenCount"],
            "thoughts_token_count": spent["thoughtsTokenCount"],
            "total_token_count": spent["totalTokenCount"],
            **fields,
        }
        return self.system("ui_telemetry", uiEvent=event)

    def say(self, text: str, spent: Row | None = None) -> Row:
        """An answer in words."""
        return self.answer({"text": text}, spent=spent)

    def call(
        self, name: str, args: Row, output: str, *, status: str = "success", display: Any = None
    ) -> str:
        """A tool call and its result."""
        call_id = f"call_{self._uuid('call')[:12]}"
        self.answer({"functionCall": {"id": call_id, "name": name, "args": args}})
        self.result(call_id, name, output, status=status, display=display)
        return call_id

    def result(
        self, call_id: str, name: str, output: str, *, status: str = "success", display: Any = None
    ) -> Row:
        """What a tool gave back."""
        answer = {"output" if status == "success" else "error": output}
        response = {"functionResponse": {"id": call_id, "name": name, "response": answer}}
        detail = {"callId": call_id, "status": status, "resultDisplay": display or output}
        message = {"role": "user", "parts": [response]}
        fields: Row = {} if self.agent_id else {"provenance": "tool_result"}
        return self.row("tool_result", message=message, toolCallResult=detail, **fields)

    def run(self, command: str, output: str, *, exit_code: int = 0) -> str:
        """A shell command."""
        text = f"Command: {command}\nDirectory: (root)\nOutput: {output}\nError: (none)\n"
        text += f"Exit Code: {exit_code}\nSignal: (none)\nProcess Group PGID: (none)"
        display = {"type": "shell_result", "exitCode": exit_code, "output": output}
        status = "error" if exit_code else "success"
        args = {"command": command}
        return self.call("run_shell_command", args, text, status=status, display=display)

    def write_file(self, path: str, content: str) -> str:
        """A file written."""
        display = {"filePath": path, "newContent": content}
        args = {"file_path": path, "content": content}
        return self.call("write_file", args, f"wrote {path}", display=display)

    def compress(self, summary: str, spent: Row) -> Row:
        """A compression: only telemetry states what it cost."""
        self.response(spent, prompt_id="compress-1")
        history = [
            {"role": "user", "parts": [{"text": f"<summary>{summary}</summary>"}]},
            {"role": "model", "parts": [{"text": "Got it. Thanks for the additional context!"}]},
        ]
        info = {"originalTokenCount": 900, "newTokenCount": 90, "triggerReason": "manual"}
        return self.system("chat_compression", info=info, compressedHistory=history)

    def spawn(self, seed: int, task: str, report: str, spent: Row) -> QwenLog:
        """A sub-agent with a log of its own, and what the parent's log says of it."""
        child = QwenLog(seed, cwd=self.cwd, start=self.now + 10)
        child.session_id = self.session_id
        child.agent_id = f"general-purpose-{seed}"
        child.envelope |= {"agentId": child.agent_id, "agentName": "general-purpose"}
        child.envelope["isSidechain"] = True
        child.meta = {
            "agentId": child.agent_id,
            "agentType": "general-purpose",
            "description": f"task {seed}",
            "parentSessionId": self.session_id,
            "parentAgentId": self.agent_id,
            "persistedCliFlags": {"model": MODEL},
        }
        child.prompt(task)
        child.say(report, spent)
        args = {"prompt": task, "subagent_type": "general-purpose"}
        if self.agent_id is None:
            self.response(spent, subagent_id=child.agent_id)
        self.call("agent", args, report)
        return child

    def fork(self, seed: int) -> QwenLog:
        """A branch: every record copied under a new session, its own id kept."""
        child = QwenLog(seed, cwd=self.cwd, start=self.now)
        for row in self.rows:
            origin = {"sessionId": self.session_id, "messageUuid": row["uuid"]}
            child.rows.append(row | {"sessionId": child.session_id, "forkedFrom": origin})
        return child

    # --- files ---

    @property
    def external_id(self) -> str:
        """What the session is called in the store."""
        return f"{self.session_id}:{self.agent_id}" if self.agent_id else self.session_id

    def path(self, home: Path) -> Path:
        """Where the client would write this log."""
        project = home / "projects" / self.cwd.replace("/", "-")
        if self.agent_id:
            return project / "subagents" / self.session_id / f"agent-{self.agent_id}.jsonl"
        return project / "chats" / f"{self.session_id}.jsonl"

    def lines(self) -> bytes:
        """The log as bytes."""
        rows = (json.dumps(row, ensure_ascii=False) for row in self.rows)
        return "".join(f"{row}\n" for row in rows).encode()

    def write(self, home: Path) -> Path:
        """Write the log, and a sub-agent's notes next to it."""
        path = self.path(home)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(self.lines())
        if self.meta:
            path.with_suffix(".meta.json").write_text(json.dumps(self.meta), encoding="utf-8")
        return path
