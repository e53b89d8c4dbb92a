"""Writes Continue's sessions in their real shape: one document, rewritten at every change."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

Row = dict[str, Any]

START = 1_772_442_000_000  # 2026-03-02T09:00:00Z


class ContinueDevLog:
    """One session in the making: each method appends the entries such a step leaves behind.

    log = ContinueDevLog(seed=7)
    log.prompt("fix the failing test")
    log.run("pytest -q", "1 failed", exit_code=1)
    log.write(home)  # home/sessions/<id>.json
    """

    def __init__(self, seed: int = 1, *, cwd: str = "/work/shop", listed: bool = True) -> None:
        self.session_id = f"00000000-0000-4000-8000-{seed:012x}"
        self.created = START + seed * 1000
        self.listed = listed
        self.document: Row = {
            "sessionId": self.session_id,
            "title": "New Session",
            "workspaceDirectory": f"file://{cwd}",
            "history": [],
        }
        self._made = 0

    def entry(self, role: str, content: Any, **fields: Any) -> Row:
        """Append an entry; fields with a name of the message's go there."""
        self._made += 1
        message: Row = {"role": role, "content": content, "id": f"m-{self._made}"}
        message |= {
            name: fields.pop(name) for name in ("toolCalls", "toolCallId") if name in fields
        }
        entry: Row = {"message": message, "contextItems": [], **fields}
        self.document["history"].append(entry)
        return entry

    def prompt(self, text: str, **fields: Any) -> Row:
        """What the user typed, with the copy that the editor needs."""
        editor = {"type": "doc", "content": [{"type": "text", "text": text}]}
        return self.entry("user", [{"type": "text", "text": text}], editorState=editor, **fields)

    def say(self, text: str, **fields: Any) -> Row:
        """An answer, with the whole prompt that led to it."""
        options = {"model": "qwen2.5-coder", "maxTokens": 4096}
        log = {"modelTitle": "Qwen", "completionOptions": options, "prompt": "<repeated prompt>"}
        return self.entry("assistant", text, promptLogs=[log, []], **fields)

    def tool(self, name: str, given: Row, text: str, status: str = "done") -> Row:
        """A call and its result, in one entry."""
        call_id = f"call_{self.session_id[-4:]}_{self._made}"
        function = {"name": name, "arguments": json.dumps(given)}
        call = {"id": call_id, "type": "function", "function": function}
        output = [{"name": "Output", "description": "", "content": text}] if text else []
        state = {"toolCallId": call_id, "toolCall": call, "status": status, "output": output}
        return self.say("", toolCalls=[call], toolCallStates=[{**state, "parsedArgs": given}])

    def run(self, command: str, text: str, exit_code: int = 0) -> None:
        """A command; only its output says that it failed."""
        output = f"{text}\nExit code: {exit_code}" if exit_code else text
        self.tool("run_terminal_command", {"command": command}, output)

    def write(self, home: Path) -> Path:
        """Write the session, and the list of all with the time it was created."""
        folder = home / "sessions"
        folder.mkdir(parents=True, exist_ok=True)
        index = folder / "sessions.json"
        rows: list[Row] = json.loads(index.read_text()) if index.exists() else []
        if self.listed and all(row["sessionId"] != self.session_id for row in rows):
            row = {"sessionId": self.session_id, "dateCreated": str(self.created)}
            index.write_text(json.dumps([*rows, row]))
        path = folder / f"{self.session_id}.json"
        path.write_text(json.dumps(self.document, ensure_ascii=False), encoding="utf-8")
        return path
