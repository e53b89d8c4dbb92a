"""What the rows of a Crush session mean."""

from __future__ import annotations

import re

from session_memory.adapters.common import (
    Json,
    Normalized,
    SourceFile,
    as_list,
    as_object,
    as_text,
    decode_record,
    parse_time,
)
from session_memory.adapters.emit_events import EventEmitter, stated_exit_code
from session_memory.adapters.gather import PartBuilder
from session_memory.adapters.whole_log import Record, Records
from session_memory.core.schema import ToolClass, Usage

UNTITLED = frozenset({"New Session", "Untitled Session"})
_INIT = re.compile(
    r"\s*`?(?:please )?analyze this codebase and create(?:/update)? (?:a |an )?\*\*[\w.-]+\.md\*\*",
    re.I,
)
"""How the client's own prompt begins that has the project described in a file."""
_QUIET = frozenset({"end_turn", "tool_use", "stop", "unknown", "max_tokens", "permission_denied"})
"""Ends of a message that repeat its other parts."""
_TOOLS: dict[str, ToolClass] = {
    "agent": "agent",
    "agentic_fetch": "agent",
    "diagnostics": "read",
    "download": "web",
    "job_kill": "shell",
    "job_output": "shell",
    "lsp_diagnostics": "read",
    "lsp_references": "search",
    "references": "search",
    "sourcegraph": "web",
    "todos": "plan",
}


def emit(source: SourceFile, records: Records, bundle: Normalized) -> None:
    """Read all rows of one session."""
    rows = [record for _, record in records]
    own = next((row for row in rows if "session" in row), Record())
    session = as_object(own.get("session"))
    name = as_text(session.get("id")) or source.path.rpartition("#")[2]
    part = PartBuilder(name, as_text(session.get("parent_session_id")) or None)
    emitter = MessageEmitter(part, bundle)
    emitter.begin(session, as_text(own.get("project")))
    for row in rows:
        if "message" in row:
            emitter.emit(as_object(row.get("message")), row.get("parts"))
    emitter.settle_cost(session)
    emitter.finish()


class MessageEmitter(EventEmitter):
    """Turns the messages of one session into events, in their order."""

    _summary = _cwd = _model = ""

    def begin(self, session: Record, project: str) -> None:
        """What the session's own row says."""
        self._tools: dict[str, ToolClass] = {}
        self._summary = as_text(session.get("summary_message_id"))
        self._cwd = project
        title = as_text(session.get("title"))
        self.part.begin(
            cwd=project,
            title="" if title in UNTITLED else title,
            opened=parse_time(session.get("created_at")),
        )

    def emit(self, message: Record, parts: Json) -> None:
        """One message, part by part."""
        self.at = parse_time(message.get("created_at"))
        role = as_text(message.get("role"))
        if model := as_text(message.get("model")):
            self._model = self._model or model
            self.part.note_model(model, len(self.part.events))
        if not isinstance(parts, list):
            self.unknown("parts", parts)
            return
        summary = message.get("is_summary_message") == 1 or message.get("id") == self._summary
        for part in map(as_object, as_list(parts)):
            kind, data = as_text(part.get("type")), as_object(part.get("data"))
            if kind == "text":
                self._say(role, as_text(data.get("text")), summary=summary)
            elif kind == "reasoning":
                self.think(as_text(data.get("thinking")))
            elif kind == "tool_call":
                self._call(data)
            elif kind == "tool_result":
                self._result(data)
            elif kind == "finish":
                self._finish(data)
            elif kind in ("binary", "image", "image_url"):
                self.ignore(f"attachment/{kind}")
            else:
                self.unknown(f"part/{kind}", part)

    def _say(self, role: str, text: str, *, summary: bool) -> None:
        if summary:
            self.compact(text)
        elif role == "assistant":
            self.say(text)
        elif role != "user":
            self.unknown(f"role/{role}", {"text": text})
        elif _INIT.match(text) and not self.part.parent:
            self.inject(text, "init")
        else:
            self.prompt(text)

    def _call(self, data: Record) -> None:
        name, call_id = as_text(data.get("name")), as_text(data.get("id"))
        event = self.call(name, data.get("input"), call_id, _TOOLS.get(name))
        if call_id and event.tool_class:
            self._tools[call_id] = event.tool_class

    def _result(self, data: Record) -> None:
        """A result; its name is empty, and a failed command is flagged as well as one that ran."""
        call_id, content = as_text(data.get("tool_call_id")), as_text(data.get("content"))
        failed = data.get("is_error") is True
        event = self.result(content, call_id, failed=failed)
        event.exit_code = stated_exit_code(content) if self._tools.get(call_id) == "shell" else None
        event.is_error = failed or event.exit_code not in (None, 0)
        about = decode_record(as_text(data.get("metadata")).encode("utf-8", "replace")) or {}
        if not self._cwd and (folder := as_text(about.get("working_directory"))):
            self._cwd = folder
            self.part.note("cwd", folder, 0)

    def _finish(self, data: Record) -> None:
        reason = as_text(data.get("reason"))
        words = (as_text(data.get("message")), as_text(data.get("details")))
        text = "\n".join(word for word in words if word)
        if reason == "canceled":
            self.interrupt(text or "the user cancelled the request")
        elif reason == "error":
            self.fail(text, "api_error")
        elif reason in _QUIET:
            self.ignore(f"finish/{reason}")
        else:
            self.unknown(f"finish/{reason}", data)

    def settle_cost(self, session: Record) -> None:
        """The dollars of a session, with those of its sub-agents.

        Its tokens are those of the last request, and so no sum of anything.
        """
        cost = session.get("cost")
        if self.part.parent or not isinstance(cost, int | float) or cost <= 0:
            return
        self.part.spend(
            Usage(
                key=f"{self.part.external_id}:cost",
                model=self._model,
                at=parse_time(session.get("created_at")),
                usd=float(cost),
            )
        )
