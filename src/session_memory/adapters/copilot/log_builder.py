"""Writes Copilot CLI session folders in their real shape, the same for the same seed."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

from session_memory.clock import iso

Row = dict[str, Any]
"""One JSON record, of whatever shape Copilot gives that type."""

START = 1_782_200_000_000  # 2026-06-23T07:33:20Z
MODEL = "claude-sonnet-4.6"


def spent(given: int = 100, output: int = 20, *, read: int = 0, written: int = 0) -> Row:
    """Token counts as Copilot writes them: input holds what came from the cache too."""
    return {
        "inputTokens": given,
        "outputTokens": output,
        "cacheReadTokens": read,
        "cacheWriteTokens": written,
        "reasoningTokens": output // 2,
    }


class CopilotLog:
    """One session in the making: each method appends the records that such a step leaves behind.

        log = CopilotLog(seed=7)
        log.start()
        log.prompt("fix the failing test")
        log.run("pytest -q", "1 failed", exit_code=1)
        log.write(home)  # home/session-state/<session>/events.jsonl

    `rows` is the log to be, `side_files` the other files of the folder; a test may change both.
    """

    def __init__(self, seed: int = 1, *, cwd: str = "/work/shop", version: str = "1.0.102") -> None:
        self._chance = random.Random(seed)
        self.now = START + seed * 1000
        self.began = self.now
        self.cwd = cwd
        self.version = version
        self.session_id = self._uuid()
        self.rows: list[Row] = []
        self.side_files: dict[str, bytes] = {}
        self.agent = ""
        """The sub-agent that the next records are of."""

    def _hex(self, digits: int) -> str:
        return f"{self._chance.getrandbits(digits * 4):0{digits}x}"

    def _uuid(self) -> str:
        return "-".join((self._hex(8), self._hex(4), self._hex(4), self._hex(4), self._hex(12)))

    # --- records ---

    def row(self, kind: str, /, **data: Any) -> None:
        """Append a record."""
        self.now += 250
        agent: Row = {"agentId": self.agent} if self.agent else {}
        before = self.rows[-1]["id"] if self.rows else None
        head: Row = {"type": kind, "data": data, **agent, "id": self._uuid()}
        self.rows.append({**head, "timestamp": iso(self.now), "parentId": before})

    def _context(self) -> Row:
        return {"cwd": self.cwd, "gitRoot": self.cwd, "branch": "main", "headCommit": "c0ffee"}

    def start(self, *, unattended: bool = False) -> None:
        """The first records of a session."""
        self.row(
            "session.start",
            sessionId=self.session_id,
            version=1,
            producer="copilot-agent",
            copilotVersion=self.version,
            startTime=iso(self.began),
            selectedModel=MODEL,
            context=self._context(),
        )
        mode = " You are running in non-interactive mode." if unattended else ""
        self.row("system.message", role="system", content=f"You are Copilot.{mode}")

    def resume(self) -> None:
        """The session is taken up again."""
        self.row("session.resume", resumeTime=iso(self.now), context=self._context())

    def prompt(self, text: str, **data: Any) -> None:
        """What the user typed; the client adds its own around it."""
        sent = f"<current_datetime>{iso(self.now)}</current_datetime>\n\n{text}"
        self.row("user.message", content=text, transformedContent=sent, attachments=[], **data)

    def answer(self, text: str, *requests: Row, usage: Row | None = None, **data: Any) -> None:
        """An answer; with `usage`, the record of its cost that newer versions put before it."""
        call = f"chatcmpl-{self._hex(12)}"
        if usage is not None:
            counted = {"accounting": {"sourceSessionId": self.session_id, "usageId": call}}
            fields: Row = {"model": MODEL, **usage, "apiCallId": call, **counted}
            self.row("session.usage_record", usage=fields)
        body: Row = {"messageId": self._uuid(), "model": MODEL, "content": text}
        self.row("assistant.message", **body, toolRequests=list(requests), apiCallId=call, **data)

    def tool(self, name: str, given: Any, text: str, **end: Any) -> str:
        """A call with all its records; gives its id."""
        call_id = f"call_{self._hex(12)}"
        self.ask(call_id, name, given)
        self.end(call_id, text, **end)
        return call_id

    def ask(self, call_id: str, name: str, given: Any, **more: Any) -> None:
        """A call that was asked for and began."""
        request: Row = {"toolCallId": call_id, "name": name, "arguments": given, "type": "function"}
        self.answer("", {**request, **more}, usage=spent())
        self.row("tool.execution_start", toolCallId=call_id, toolName=name, arguments=given, **more)

    def end(self, call_id: str, text: str, **end: Any) -> None:
        """The end of a call."""
        said: Row = {"success": True, "result": {"content": text, "detailedContent": f"+{text}"}}
        self.row("tool.execution_complete", toolCallId=call_id, **{**said, **end})

    def run(self, command: str, text: str, exit_code: int = 0) -> str:
        """A command the agent ran."""
        said = f"{text}\n<shellId: 0 completed with exit code {exit_code}>"
        given = {"command": command, "description": "run"}
        return self.tool("bash", given, said, shellExecution={"exitCode": exit_code})

    def delegate(self, task: str) -> str:
        """A sub-agent begins: records are its own until `rejoin`; gives its id."""
        agent, call_id = self._uuid(), f"call_{self._hex(12)}"
        self.ask(call_id, "task", {"prompt": task, "agent_type": "explore"})
        self.agent = agent
        named: Row = {"agentName": "explore", "agentDisplayName": "Explorer", "model": MODEL}
        self.row("subagent.started", toolCallId=call_id, agentDescription=task, **named)
        self.prompt(task, source=f"agent-{self.session_id}")
        return agent

    def rejoin(self, text: str) -> None:
        """The sub-agent has finished."""
        started = next(row for row in reversed(self.rows) if row["type"] == "subagent.started")
        call_id = started["data"]["toolCallId"]
        self.row("subagent.completed", toolCallId=call_id, agentName="explore", totalToolCalls=1)
        self.agent = ""
        self.end(call_id, text)

    def compact(self, summary: str, usage: Row | None = None) -> None:
        """The context condensed."""
        self.row("session.compaction_start", trigger="manual")
        attempt = self._uuid()
        self.row(
            "session.compaction_complete",
            success=True,
            compactionAttemptId=attempt,
            summaryContent=summary,
            compactionTokensUsed=usage or spent(30, 5),
        )

    def shutdown(self, usage: Row, model: str = MODEL) -> None:
        """The session ends, with the totals it has come to so far."""
        metrics = {model: {"requests": {"count": 1, "cost": 0}, "usage": usage}}
        ended: Row = {"shutdownType": "routine", "sessionStartTime": self.began}
        self.row("session.shutdown", **ended, modelMetrics=metrics, totalPremiumRequests=0)

    def name(self, name: str, *, by_user: bool = False) -> None:
        """The file next to the log that names the session."""
        flag = "true" if by_user else "false"
        pairs = f"id: {self.session_id}\ncwd: {self.cwd}\nbranch: main\nname: '{name}'\n"
        self.side_files["workspace.yaml"] = f"{pairs}user_named: {flag}\n".encode()

    # --- files ---

    def dump(self) -> bytes:
        """The log's bytes."""
        return "".join(json.dumps(row) + "\n" for row in self.rows).encode()

    def path(self, home: Path) -> Path:
        """Where Copilot would put the log below its home."""
        return home / "session-state" / self.session_id / "events.jsonl"

    def write(self, home: Path, rows: int | None = None) -> Path:
        """Write the folder, with the whole log or its first rows."""
        path = self.path(home)
        path.parent.mkdir(parents=True, exist_ok=True)
        for name, data in self.side_files.items():
            target = path.parent / name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(data)
        path.write_bytes(b"".join(self.dump().splitlines(keepends=True)[:rows]))
        return path
