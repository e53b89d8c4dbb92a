"""Writes Gemini CLI chats in their real shape, as lines or as one document, the same for a seed."""

from __future__ import annotations

import copy
import hashlib
import json
import uuid
from pathlib import Path
from typing import Any

from session_memory.clock import iso

Row = dict[str, Any]
"""One JSON record, of whatever shape Gemini CLI gives that type."""

START = 1_772_442_000_000  # 2026-03-02T09:00:00Z
MODEL = "gemini-2.5-pro"


def tokens(
    fresh: int = 100, output: int = 20, *, cached: int = 0, thoughts: int = 0, tool: int = 0
) -> Row:
    """A `tokens` object: input holds what came from the cache, output no thoughts."""
    return {
        "input": fresh + cached,
        "output": output,
        "cached": cached,
        "thoughts": thoughts,
        "tool": tool,
        "total": fresh + cached + output + thoughts + tool,
    }


class GeminiLog:
    """One chat in the making: each method leaves the lines that such a step leaves behind.

        log = GeminiLog(seed=7, cwd="/work/shop")
        log.prompt("fix the failing test")
        log.say("I run it.", tokens(100, 20))
        log.run("pytest -q", "1 failed", exit_code=1)
        log.write(home)  # home/tmp/shop/chats/session-<minute>-<id8>.jsonl

    `rows` are the lines to be; a test may change them.
    """

    def __init__(
        self, seed: int = 1, *, cwd: str = "/work/shop", start: int = START, parent: str = ""
    ) -> None:
        self.seed = seed
        self.cwd = cwd
        self.now = start
        self.start = start
        self.parent = parent
        self.outputs: dict[str, str] = {}
        """Whole outputs kept next to the chat, by file name."""
        self._made = 0
        self.session_id = self._uuid("session")
        self.project_hash = hashlib.sha256(cwd.encode()).hexdigest()
        self.header: Row = {
            "sessionId": self.session_id,
            "projectHash": self.project_hash,
            "startTime": iso(start),
            "lastUpdated": iso(start),
            "kind": "subagent" if parent else "main",
        }
        self.rows: list[Row] = [self.header]

    # --- rows ---

    def _uuid(self, what: str) -> str:
        self._made += 1
        name = f"gemini/{self.seed}/{self._made}/{what}"
        return str(uuid.uuid5(uuid.NAMESPACE_URL, name))

    def tick(self, ms: int = 1000) -> str:
        """Let time pass and say what it is now."""
        self.now += ms
        return _clock(self.now)

    def message(self, kind: str, content: Any, **fields: Any) -> Row:
        """Append a message of any type."""
        row: Row = {"id": self._uuid(kind), "timestamp": self.tick(), "type": kind}
        row |= {"content": content, **fields}
        self.rows.append(row)
        self.patch(lastUpdated=iso(self.now))
        return row

    def patch(self, **fields: Any) -> None:
        """Append a change of the header."""
        self.rows.append({"$set": fields})

    def again(self, row: Row, **fields: Any) -> Row:
        """Append a message once more, changed; it replaces what was said before."""
        row = copy.deepcopy(row) | fields
        self.rows.append(row)
        return row

    # --- a conversation ---

    def context(self) -> None:
        """What the client tells the model first."""
        text = (
            "<session_context>\nThis is the Gemini CLI. We are setting up the context for our"
            f" chat.\n- **Workspace Directories:**\n  - {self.cwd}\n</session_context>"
        )
        row = {
            "id": "c" * 32,
            "timestamp": self.tick(),
            "type": "user",
            "content": [{"text": text}],
        }
        self.patch(messages=[row], lastUpdated=iso(self.now))

    def prompt(self, text: str, **fields: Any) -> Row:
        """A text typed by the human."""
        return self.message("user", [{"text": text}], **fields)

    def say(self, text: str, spent: Row | None = None, *, thought: str = "") -> Row:
        """An answer of the model; later calls join the last one."""
        thoughts = [{"subject": "S", "description": thought, "timestamp": self.tick()}]
        return self.message(
            "gemini",
            text,
            thoughts=thoughts if thought else [],
            tokens=spent or tokens(),
            model=MODEL,
        )

    def call(
        self, name: str, args: Row, output: str, *, status: str = "success", **fields: Any
    ) -> str:
        """A finished tool call of the last answer, and the message that repeats its result."""
        last = next(row for row in reversed(self.rows) if row.get("type") == "gemini")
        call_id = f"{name}__fc_{self._uuid('call')[:8]}"
        answer = {"error" if status != "success" else "output": output}
        response = {"functionResponse": {"id": call_id, "name": name, "response": answer}}
        call = {"id": call_id, "name": name, "args": args, "result": [response]}
        call |= {"status": status, "timestamp": self.tick(), "resultDisplay": output, **fields}
        self.again(last, toolCalls=[*last.get("toolCalls", []), call])
        self.message("user", [response])
        return call_id

    def run(self, command: str, output: str, *, exit_code: int = 0) -> str:
        """A shell command; only a failing one names its exit code."""
        footer = f"\nExit Code: {exit_code}" if exit_code else ""
        text = f"<untrusted_context>\nOutput: {output}{footer}\n"
        text += "Process Group PGID: 7\n</untrusted_context>"
        return self.call("run_shell_command", {"command": command}, text)

    def write_file(self, path: str, content: str) -> str:
        """A file written."""
        display = {"filePath": path, "fileName": Path(path).name, "newContent": content}
        args = {"file_path": path, "content": content}
        return self.call("write_file", args, f"wrote {path}", resultDisplay=display)

    def large(self, whole: str) -> str:
        """An output of which the record holds only the ends."""
        name = f"big_{self._uuid('output')[:8]}.txt"
        self.outputs[name] = f"<untrusted_context>\n{whole}\n</untrusted_context>"
        place = f"/home/dev/.gemini/tmp/shop/tool-outputs/session-{self.session_id}/{name}"
        shown = f"{whole[:80]}\n\n... [{len(whole) - 180} characters omitted] ...\n\n{whole[-100:]}"
        text = f"Output too large. For full output see: {place}\n<untrusted_context>\n{shown}"
        return self.call("mcp_shop_dump", {"all": True}, text + "\n</untrusted_context>")

    def rewind(self, row: Row) -> None:
        """The user goes back to before a message."""
        self.rows.append({"$rewindTo": row["id"]})

    def messages(self) -> list[Row]:
        """Every message as its last line left it, without what was rewound."""
        by_id: dict[str, Row] = {}
        for row in self.rows:
            if "$rewindTo" in row:
                names = list(by_id)
                for name in names[names.index(row["$rewindTo"]) :]:
                    del by_id[name]
            listed = row.get("$set", {}).get("messages", [])
            for message in listed if listed else [row] if "id" in row else []:
                by_id[message["id"]] = message
        return list(by_id.values())

    def compress(self, summary: str) -> None:
        """The context gives way to a summary, as the client's next lines show."""
        text = f"<state_snapshot>\n{summary}\n</state_snapshot>"
        at = self.tick()
        snapshot = {
            "id": self._uuid("s"),
            "timestamp": at,
            "type": "user",
            "content": [{"text": text}],
        }
        thanks = [{"text": "Got it. Thanks for the additional context!"}]
        said = {"id": self._uuid("t"), "timestamp": at, "type": "gemini", "content": thanks}
        self.patch(messages=[snapshot, said], lastUpdated=at)

    def resume(self) -> None:
        """A second header, and the history with new times and without tokens and calls."""
        history = self.messages()
        self.rows.append(
            self.header | {"startTime": self.tick(60_000), "lastUpdated": iso(self.now)}
        )
        self.patch(sessionId=self.session_id)
        self.patch(messages=[stripped(row, _clock(self.now)) for row in history])

    def spawn(self, seed: int, task: str, report: str) -> GeminiLog:
        """A sub-agent, and the call that started it."""
        child = GeminiLog(seed, cwd=self.cwd, start=self.now + 10, parent=self.session_id)
        child.message("user", [{"text": task}])
        child.say(report)
        display = {"isSubagentProgress": True, "agentName": "generalist", "result": report}
        args = {"prompt": task, "agent_name": "generalist"}
        agent = child.session_id
        self.call("invoke_agent", args, report, agentId=agent, resultDisplay=display)
        return child

    # --- files ---

    def path(self, home: Path, suffix: str = ".jsonl") -> Path:
        """Where the client would write this chat."""
        chats = home / "tmp" / Path(self.cwd).name / "chats"
        if self.parent:
            return chats / self.parent / f"{self.session_id}{suffix}"
        minute = _clock(self.start)[:16].replace(":", "-")
        return chats / f"session-{minute}-{self.session_id[:8]}{suffix}"

    def lines(self) -> bytes:
        """The chat as lines."""
        rows = (json.dumps(row, ensure_ascii=False) for row in self.rows)
        return "".join(f"{row}\n" for row in rows).encode()

    def write(self, home: Path) -> Path:
        """Write the chat as lines, and what the client keeps next to it."""
        path = self.path(home)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(self.lines())
        self._write_sides(home)
        return path

    def write_document(self, home: Path) -> Path:
        """Write the chat as older clients did: one document, indented."""
        path = self.path(home, ".json")
        path.parent.mkdir(parents=True, exist_ok=True)
        whole = self.header | {"lastUpdated": iso(self.now), "messages": self.messages()}
        path.write_text(json.dumps(whole, indent=2, ensure_ascii=False), encoding="utf-8")
        return path

    def _write_sides(self, home: Path) -> None:
        project = home / "tmp" / Path(self.cwd).name
        (project / ".project_root").write_text(self.cwd, encoding="utf-8")
        for name, text in self.outputs.items():
            folder = project / "tool-outputs" / f"session-{self.session_id}"
            folder.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text, encoding="utf-8")


def _clock(ms: int) -> str:
    return iso(ms) or ""


def stripped(row: Row, at: str) -> Row:
    """A message as a resumed session lists it."""
    content = row["content"]
    parts: list[Row] = [{"text": content}] if isinstance(content, str) else list(content)
    for call in row.get("toolCalls", []):
        named = {key: call[key] for key in ("id", "name", "args")}
        parts.append({"functionCall": named})
    return {"id": row["id"], "timestamp": at, "type": row["type"], "content": parts}
