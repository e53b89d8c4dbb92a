"""Writes chats of Copilot Chat in VS Code: as a log of changes, or as the document before it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

Row = dict[str, Any]

START = 1_772_442_000_000  # 2026-03-02T09:00:00Z


class CopilotChatLog:
    """One chat in the making: each method appends the changes such a step leaves behind.

        log = CopilotChatLog(seed=7)
        log.prompt("fix the failing test")
        log.run("pytest -q", "1 failed", exit_code=1)
        log.write(home)  # home/<hash>/chatSessions/<id>.jsonl

    `rows` is the log; a test may change it. `requests` is what it comes to.
    """

    def __init__(self, seed: int = 1, *, cwd: str = "/work/shop") -> None:
        self.now = START + seed * 1000
        self.session_id = f"00000000-0000-4000-8000-{seed:012x}"
        self.cwd = cwd
        self.workspace: Row = {"folder": f"file://{cwd}"}
        self.document: Row = {
            "version": 3,
            "sessionId": self.session_id,
            "creationDate": self.now,
            "requests": [],
        }
        self.rows: list[Row] = [{"kind": 0, "v": json.loads(json.dumps(self.document))}]
        self._made = 0

    @property
    def request(self) -> Row:
        """The last request."""
        return self.document["requests"][-1]

    def change(self, kind: int, path: list[str | int], value: Any = None, **more: Any) -> None:
        """Append a change."""
        row: Row = {"kind": kind, "k": path, "v": value, **more}
        self.rows.append(json.loads(json.dumps(row)))

    def prompt(self, text: str, **fields: Any) -> Row:
        """A request without an answer yet."""
        self.now += 1000
        request: Row = {
            "requestId": f"request_{len(self.document['requests'])}_{self.session_id[-4:]}",
            "timestamp": self.now,
            "message": {"text": text, "parts": []},
            "variableData": {"variables": []},
            "response": [],
            "modelId": "copilot/gpt-5",
            **fields,
        }
        self.change(2, ["requests"], [request])
        self.document["requests"].append(request)
        return request

    def item(self, item: Row) -> Row:
        """Append a piece of the answer."""
        place = ["requests", len(self.document["requests"]) - 1, "response"]
        self.change(2, place, [item])
        self.request["response"].append(item)
        return item

    def set(self, name: str, value: Any) -> None:
        """Set a field of the request."""
        self.request[name] = value
        self.change(1, ["requests", len(self.document["requests"]) - 1, name], value)

    def say(self, text: str) -> None:
        """A piece of markdown."""
        self.item({"value": text, "supportThemeIcons": False})

    def think(self, text: str) -> None:
        """What the model thought, and the empty piece that closes it."""
        self.item({"kind": "thinking", "value": text})
        self.item({"kind": "thinking", "value": ""})

    def tool(
        self, name: str, called: str, given: Row, text: str, *, same_id: bool = True, **fields: Any
    ) -> Row:
        """A call: the item of the answer, and arguments and result in the metadata."""
        self._made += 1
        call_id = f"call_{self.session_id[-4:]}_{self._made}"
        item = self.item(
            {
                "kind": "toolInvocationSerialized",
                "toolId": name,
                "toolCallId": call_id if same_id else f"other-{self._made}",
                "invocationMessage": {"value": f"Using {name}"},
                "isComplete": True,
                "isConfirmed": True,
                **fields,
            }
        )
        inner = f"{call_id}__vscode-{self._made}"
        result: Row = self.request.get("result") or {}
        metadata: Row = result.get("metadata") or {"toolCallRounds": [], "toolCallResults": {}}
        call = {"id": inner, "name": called, "arguments": json.dumps(given)}
        metadata["toolCallRounds"].append({"id": f"r{self._made}", "toolCalls": [call]})
        metadata["toolCallResults"][inner] = {"content": [{"value": text}]}
        metadata["renderedUserMessage"] = [
            {"type": 1, "text": "<attachments>wrapped</attachments>"}
        ]
        self.set("result", {**result, "metadata": metadata})
        return item

    def run(self, command: str, text: str, exit_code: int = 0) -> None:
        """A command in the terminal; that it failed stands in its output alone."""
        output = f"{text}\nCommand exited with code {exit_code}" if exit_code else text
        special = {"kind": "terminal", "commandLine": {"original": command}}
        given = {"command": command}
        self.tool("run_in_terminal", "run_in_terminal", given, output, toolSpecificData=special)

    def folder(self, home: Path) -> Path:
        """Where the chat is."""
        return home / f"{self.session_id[-8:]}" / "chatSessions"

    def write(self, home: Path) -> Path:
        """Write the log of changes, and the file that names the folder."""
        rows = (json.dumps(row, ensure_ascii=False) for row in self.rows)
        return self._write(home, ".jsonl", "".join(f"{row}\n" for row in rows))

    def write_document(self, home: Path) -> Path:
        """Write the document, as editors before 1.109 did."""
        return self._write(home, ".json", json.dumps(self.document, ensure_ascii=False))

    def _write(self, home: Path, suffix: str, content: str) -> Path:
        path = self.folder(home) / f"{self.session_id}{suffix}"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8")
        (path.parent.parent / "workspace.json").write_text(json.dumps(self.workspace))
        return path
