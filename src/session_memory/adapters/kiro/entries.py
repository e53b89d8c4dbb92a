"""What the records of a Kiro session mean: lines of its log, entries of a stored conversation."""

from __future__ import annotations

from session_memory.adapters.common import (
    Json,
    Normalized,
    SourceFile,
    as_list,
    as_object,
    as_text,
    parse_time,
)
from session_memory.adapters.emit_events import EventEmitter
from session_memory.adapters.excerpt import compact_json
from session_memory.adapters.gather import PartBuilder
from session_memory.adapters.whole_log import Record, Records
from session_memory.core.schema import ToolClass

_TOOLS: dict[str, ToolClass] = {
    "execute_bash": "shell",
    "fs_read": "read",
    "fs_write": "edit",
    "use_subagent": "agent",
    "delegate": "agent",
    "todo_list": "plan",
}


_OF_THE_EDITOR = "<kiro-ide-message>"
"""How a message begins that Kiro's editor put into an exported conversation."""


def is_entry(record: Record) -> bool:
    """Whether an object is an entry of a conversation, and not one nested in it."""
    return "user" in record and "assistant" in record


def is_line(record: Record) -> bool:
    """Whether an object is a line of a log, and not one nested in it."""
    return "data" in record and as_text(record.get("kind")) in _KINDS


_KINDS = ("Prompt", "AssistantMessage", "ToolResults")


def emit(source: SourceFile, records: Records, bundle: Normalized) -> None:
    """Read a whole session."""
    rows = [record for _, record in records]
    header = next((row for row in rows if "older" in row), Record())
    about = as_object(header.get("about"))
    stated = (about.get("session_id"), header.get("conversation"), header.get("log"))
    name = next((text for value in stated if (text := as_text(value))), "")
    parent = as_text(about.get("parent_session_id")) or None
    part = PartBuilder(name or source.path.rpartition("#")[2], parent)
    emitter = EntryEmitter(part, bundle)
    emitter.begin(header, about)
    for row in rows:
        emitter.emit(row)
    if not emitter.part.events:
        return
    for stated_time in (header, about):
        emitter.note_times(stated_time)
    emitter.finish(source.mtime_ns // 1_000_000 if not emitter.has_times else None)


class EntryEmitter(EventEmitter):
    """Turns the records of one session into events, in their order."""

    has_times = False

    def begin(self, header: Record, about: Record) -> None:
        """What the file next to a log, or the row itself, says of the session."""
        cwd = as_text(about.get("cwd")) or as_text(header.get("key"))
        self.part.begin(cwd=cwd, title=as_text(about.get("title")))
        if header.get("older") is True:
            self.part.note("stand_in", "history", 0)

    def note_times(self, stated: Record) -> None:
        """When the session began and was last changed."""
        for name in ("created_at", "updated_at"):
            if (at := parse_time(stated.get(name))) is not None:
                self.has_times = True
                self.part.note_time(at, 0)

    def emit(self, row: Record) -> None:
        """One record, of either store."""
        if "older" in row or "conversation" in row:
            return
        if "entry" in row:
            self._emit_entry(as_object(row.get("entry")))
            return
        kind, data = as_text(row.get("kind")), as_object(row.get("data"))
        if kind not in _KINDS:
            self.unknown(kind or "no kind", row)
            return
        content = data.get("content")
        if content is None:
            self.ignore(f"{kind}/empty")  # the agent went on
        for piece in [content] if isinstance(content, str) else as_list(content):
            self._emit_piece(kind, piece)

    def _emit_piece(self, kind: str, piece: Json) -> None:
        if isinstance(piece, str):
            piece = {"kind": "text", "data": piece}
        record = as_object(piece)
        what, data = as_text(record.get("kind")), record.get("data")
        if what == "text":
            self._say(kind, as_text(data))
        elif what == "toolUse":
            use = as_object(data)
            self._call(use, as_text(use.get("toolUseId")), use.get("input"))
        elif what == "toolResult":
            self._result(as_object(data), "toolUseId")
        elif what in ("image", "document"):
            self.ignore(f"attachment/{what}")
        else:
            self.unknown(f"content/{what}", record)

    def _say(self, kind: str, text: str) -> None:
        if kind == "Prompt":
            self._ask(text)
        elif kind == "AssistantMessage":
            self.say(text)
        else:
            self.inject(text, "tool_results")

    # --- stored conversations ---

    def _emit_entry(self, entry: Record) -> None:
        user, assistant = as_object(entry.get("user")), as_object(entry.get("assistant"))
        self.at = parse_time(user.get("timestamp"))
        state = as_object(as_object(user.get("env_context")).get("env_state"))
        if cwd := as_text(state.get("current_working_directory")):
            self.part.note("cwd", cwd, 0)
        content = user.get("content")
        if content is None:
            self.ignore("user/continued")
        for kind, value in as_object(content).items():
            self._emit_user(kind, as_object(value))
        ended = as_object(entry.get("request_metadata")).get("stream_end_timestamp_ms")
        self.at = parse_time(ended) or self.at
        for kind, value in assistant.items():
            self._emit_assistant(kind, as_object(value))

    def _emit_user(self, kind: str, value: Record) -> None:
        if kind == "Prompt":
            self._ask(as_text(value.get("prompt")))
        elif kind in ("ToolUseResults", "CancelledToolUses"):
            for result in map(as_object, as_list(value.get("tool_use_results"))):
                self._result(result, "tool_use_id")
            if kind == "CancelledToolUses":
                self.interrupt("the user cancelled the tools")
                if said := as_text(value.get("prompt")):
                    self._ask(said)
        else:
            self.unknown(f"user/{kind}", value)

    def _emit_assistant(self, kind: str, value: Record) -> None:
        if kind not in ("Response", "ToolUse"):
            self.unknown(f"assistant/{kind}", value)
            return
        self.say(as_text(value.get("content")))
        for use in map(as_object, as_list(value.get("tool_uses"))):
            self._call(use, as_text(use.get("id")), use.get("args"))

    # --- both ---

    def _ask(self, text: str) -> None:
        if text.lstrip().startswith(_OF_THE_EDITOR):
            self.inject(text, "kiro-ide-message")
        else:
            self.prompt(text)

    def _call(self, use: Record, call_id: str, given: Json) -> None:
        name = as_text(use.get("name"))
        self.call(name, given, call_id, _TOOLS.get(name))

    def _result(self, result: Record, key: str) -> None:
        failed = as_text(result.get("status")).lower() == "error"
        self.result(_text_of(result.get("content")), as_text(result.get(key)), failed=failed)


def _text_of(content: Json) -> str:
    """The text of a result: as it stands, or in pieces that name their kind in one of two ways."""
    if isinstance(content, str):
        return content
    texts: list[str] = []
    for piece in as_list(content):
        record = as_object(piece)
        value = record.get("data", next(iter(record.values()), piece))
        texts.append(value if isinstance(value, str) else compact_json(value))
    return "\n".join(texts)
