"""Writes Grok Build session directories in their real shape, the same for the same seed."""

from __future__ import annotations

import copy
import hashlib
import json
import uuid
from pathlib import Path
from typing import Any
from urllib.parse import quote

from session_memory.clock import iso

Row = dict[str, Any]
"""One JSON record, of whatever shape Grok Build gives that type."""

START = 1_772_442_000_000  # 2026-03-02T09:00:00Z
MODEL = "grok-4.5"
TICKS = 10_000_000_000
"""Grok's unit of money: so many are a dollar."""


def turn_usage(
    fresh: int = 100, output: int = 50, *, read: int = 0, written: int = 0, usd: float | None = None
) -> Row:
    """A `usage` object as a turn reports it: input holds what came from the cache too."""
    usage: Row = {
        "inputTokens": fresh + read + written,
        "outputTokens": output,
        "totalTokens": fresh + read + written + output,
        "cachedReadTokens": read,
        "cacheCreationTokens": written,
        "reasoningTokens": output // 2,
        "modelCalls": 1,
    }
    return usage if usd is None else {**usage, "costUsdTicks": round(usd * TICKS)}


class GrokLog:
    """One session directory in the making: each method leaves what such a step leaves behind.

        log = GrokLog(seed=7, cwd="/work/shop")
        log.prompt("fix the failing test")
        log.run("pytest -q", "1 failed", exit_code=1)
        log.end_turn(turn_usage(100, 20))
        log.write(home)  # home/sessions/%2Fwork%2Fshop/<session>/

    `updates`, `events`, `chat` and `summary` are the files to be; a test may change them.
    """

    def __init__(self, seed: int = 1, *, cwd: str = "/work/shop", start: int = START) -> None:
        self.seed = seed
        self.cwd = cwd
        self.now = start
        self.model = MODEL
        self.updates: list[Row] = []
        self.events: list[Row] = []
        self.chat: list[Row] = [{"type": "system", "content": "You are Grok."}]
        self.side_files: dict[str, bytes] = {}
        """Further files of the directory by name."""
        self._made = 0
        self._number = 1
        self._stream = start
        self.prompts = 0
        self.session_id = self._uuid("session")
        self.prompt_id = self._uuid("prompt")
        self.summary: Row = {
            "info": {"id": self.session_id, "cwd": cwd},
            "session_summary": "",
            "created_at": iso(start),
            "current_model_id": self.model,
            "chat_format_version": 1,
            "head_branch": "main",
            "head_commit": hashlib.sha1(f"{seed}".encode()).hexdigest(),
            "agent_name": "grok-build-plan",
        }

    # --- rows ---

    def update(self, kind: str, *, own: bool = False, **fields: Any) -> Row:
        """Append an update line; `own` marks Grok's own kinds, the others are the protocol's."""
        self.now += 100
        self._number += 1
        meta = {
            "eventId": f"{self.session_id}-{self._number}",
            "agentTimestampMs": self.now,
        }
        if not own and kind != "user_message_chunk":
            meta |= {"promptId": self.prompt_id, "streamStartMs": self._stream}
        row: Row = {
            "timestamp": self.now // 1000,
            "method": "_x.ai/session/update" if own else "session/update",
            "params": {
                "sessionId": self.session_id,
                "update": {"sessionUpdate": kind, **fields},
                "_meta": meta,
            },
        }
        self.updates.append(row)
        return row

    def event(self, kind: str, **fields: Any) -> Row:
        """Append a line of telemetry."""
        row: Row = {"ts": iso(self.now), "type": kind, **fields}
        self.events.append(row)
        return row

    # --- steps ---

    def prompt(self, text: str, *more: str) -> None:
        """What the human typed, in one chunk or several."""
        self.prompt_id = self._uuid("prompt")
        for chunk in (text, *more):
            self.update(
                "user_message_chunk",
                content={"type": "text", "text": chunk},
                _meta={"modelId": self.model, "promptIndex": self.prompts},
            )
            self.update("hook_execution", own=True, event_name="user_prompt_submit", runs=[])
        whole = "".join((text, *more))
        self.chat.append(
            {
                "type": "user",
                "content": [{"type": "text", "text": f"<user_query>\n{whole}\n</user_query>"}],
                "prompt_index": self.prompts,
            }
        )
        self.prompts += 1

    def say(self, *chunks: str) -> None:
        """An answer of the model, in one chunk or several."""
        self._answer("agent_message_chunk", chunks)
        self.chat.append({"type": "assistant", "content": "".join(chunks), "model_id": self.model})

    def think(self, *chunks: str) -> None:
        """What the model thinks."""
        self._answer("agent_thought_chunk", chunks)
        text = {"type": "summary_text", "text": "".join(chunks)}
        self.chat.append({"type": "reasoning", "id": self._uuid("rs"), "summary": [text]})

    def _answer(self, kind: str, chunks: tuple[str, ...]) -> None:
        self._stream = self.now
        for chunk in chunks:
            self.update(kind, content={"type": "text", "text": chunk})

    def tool(self, name: str, given: Row, output: str, **fields: Any) -> str:
        """A call and its result; `raw`, `status`, `outcome` and `kind` say how it went."""
        call_id = f"call_{self._uuid('call')[:8]}"
        tool = {"name": name, "kind": fields.get("kind", "other")}
        self.update(
            "tool_call",
            toolCallId=call_id,
            title=name,
            rawInput=given,
            _meta={"x.ai/tool": tool},
        )
        self.update("tool_call_update", toolCallId=call_id, title=f"Running {name}", rawInput=given)
        if outcome := fields.get("outcome", "success"):
            self.event("tool_completed", tool_name=name, tool_call_id=call_id, outcome=outcome)
        self.update(
            "tool_call_update",
            toolCallId=call_id,
            status=fields.get("status", "completed"),
            content=[{"type": "content", "content": {"type": "text", "text": output}}],
            rawOutput=fields.get("raw", {"type": "Text"}),
        )
        call = {"id": call_id, "name": name, "arguments": json.dumps(given)}
        self.chat.append({"type": "assistant", "content": "", "tool_calls": [call]})
        self.chat.append({"type": "tool_result", "tool_call_id": call_id, "content": output})
        return call_id

    def run(self, command: str, output: str = "", exit_code: int = 0) -> str:
        """A shell command."""
        call_id = self.tool(
            "run_terminal_command",
            {"command": command, "description": "a command"},
            output,
            kind="execute",
            outcome="error" if exit_code else "success",
            raw={"type": "Bash", "exit_code": exit_code, "command": command},
        )
        self.chat[-1]["content"] = f"exit: {exit_code}\n{output}"
        return call_id

    def edit(self, path: str, before: str, after: str) -> str:
        """A change of a file."""
        given = {"file_path": path, "old_string": before, "new_string": after}
        return self.tool("search_replace", given, f"The file {path} has been updated.", kind="edit")

    def end_turn(self, usage: Row | None = None, reason: str = "end_turn") -> None:
        """The end of a turn, with what it cost where the client says so."""
        fields: Row = {"prompt_id": self.prompt_id, "stop_reason": reason}
        if usage is not None:
            fields["usage"] = usage
        self.event("turn_ended", outcome="completed" if reason == "end_turn" else "cancelled")
        self.update("turn_completed", own=True, **fields)

    def rewind(self, target: int) -> None:
        """Go back to before a prompt."""
        self.update("rewind_marker", own=True, target_prompt_index=target, created_at=iso(self.now))
        self.prompts = target

    def compact(self, summary: str) -> None:
        """Condense the context; the checkpoint's file holds what is left of it."""
        name = f"compaction_checkpoints/{self._uuid('checkpoint')}.json"
        text = f"This session is being continued from a previous conversation. {summary}"
        row = {"type": "user", "content": [{"type": "text", "text": text}]}
        self.side_files[name] = json.dumps({"compacted_history": [self.chat[0], row]}).encode()
        self.update("compaction_checkpoint", own=True, checkpoint_file=name)
        self.update("auto_compact_completed", own=True, tokens_before=900, tokens_after=90)
        self.chat[1:] = [row]

    def resume(self, seconds: int = 60) -> None:
        """Another process goes on with the session: its lines are counted from the start again."""
        self.now += seconds * 1000
        self._number = 1

    # --- relatives ---

    def fork(self, seed: int) -> GrokLog:
        """A session that begins with a copy of this one's lines, under its own id."""
        other = GrokLog(seed, cwd=self.cwd, start=self.now + 60_000)
        other.updates = copy.deepcopy(self.updates)
        for row in other.updates:
            row["params"]["sessionId"] = other.session_id
        other.chat = copy.deepcopy(self.chat)
        other.side_files = {k: v for k, v in self.side_files.items() if k.startswith("compaction")}
        other.prompts = self.prompts
        other.summary |= {
            "parent_session_id": self.session_id,
            "session_kind": "fork",
            "inherited_prefix_len": len(other.chat),
        }
        return other

    def spawn(self, seed: int, description: str) -> GrokLog:
        """A sub-agent's session, known to this one by a line and a file."""
        child = GrokLog(seed, cwd=self.cwd, start=self.now)
        child.summary |= {"session_kind": "subagent", "agent_name": "general-purpose"}
        link = {
            "subagent_id": child.session_id,
            "parent_session_id": self.session_id,
            "child_session_id": child.session_id,
            "description": description,
        }
        self.update("subagent_spawned", own=True, **link)
        self.side_files[f"subagents/{child.session_id}/meta.json"] = json.dumps(link).encode()
        return child

    # --- files ---

    def directory(self, home: Path) -> Path:
        """Where Grok would keep this session."""
        return home / "sessions" / quote(self.cwd, safe="") / self.session_id

    def files(self) -> dict[str, bytes]:
        """Every file of the directory by name."""
        return {
            "summary.json": json.dumps(self.summary, indent=2).encode(),
            "updates.jsonl": lines(self.updates),
            "events.jsonl": lines(self.events),
            "chat_history.jsonl": lines(self.chat),
            **self.side_files,
        }

    def write(self, home: Path, *, without: tuple[str, ...] = ()) -> Path:
        """Write the directory, or what is new in it."""
        directory = self.directory(home)
        for name, content in self.files().items():
            if name not in without:
                path = directory / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(content)
        return directory

    def _uuid(self, what: str) -> str:
        self._made += 1
        digest = hashlib.sha256(f"{self.seed}/{what}/{self._made}".encode()).digest()
        return str(uuid.UUID(bytes=digest[:16], version=4))


def lines(rows: list[Row]) -> bytes:
    """Records as a JSONL file."""
    return "".join(json.dumps(row) + "\n" for row in rows).encode()
