"""Continue's sessions: finds them and reads them.

    sessions/<id>.json        one session: title, folder, history
    sessions/sessions.json    the list of all, with the only time there is: when each was created

The history repeats the whole prompt of every turn, the files it was given and a copy for the
editor: all of that is left out before anything else is done with it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator

from session_memory.adapters.common import (
    Json,
    Normalized,
    SourceFile,
    as_count,
    as_list,
    as_object,
    as_text,
    decode_record,
    parse_time,
    walk_files,
)
from session_memory.adapters.continue_dev import AGENT
from session_memory.adapters.emit_events import EventEmitter
from session_memory.adapters.excerpt import compact_json
from session_memory.adapters.gather import PartBuilder
from session_memory.adapters.vscode_places import uri_path
from session_memory.adapters.whole_log import (
    Line,
    Record,
    Records,
    array_lines,
    document_lines,
    item_lines,
    made_lines_adapter,
    side_file,
)
from session_memory.core.schema import Usage

INDEX = "sessions.json"
_ABOUT = ("sessionId", "title", "workspaceDirectory", "chatModelTitle", "usage")
_THOUGHT = re.compile(r"\s*<think>(.*?)(?:</think>|\Z)\s*", re.S)


def discover(root: str) -> Iterator[SourceFile]:
    """Every session of Continue's home, or of any other folder the user points at."""
    folder = os.path.join(root, "sessions")
    start = folder if os.path.isdir(folder) else root
    for file in walk_files(start, ".json", skip_files=frozenset({INDEX})):
        if file.size < 0 or start == folder or os.path.dirname(file.path) == start:
            yield file


def lines(file: SourceFile, data: bytes) -> Iterator[Line]:
    """What is known of the session, then each entry of its history without what it repeats."""
    session = os.path.splitext(os.path.basename(file.path))[0]
    about: Record = {"sessionId": session, "created": _created(file.path, session)}
    document = decode_record(data) or {}
    about |= {name: document[name] for name in _ABOUT if document.get(name)}
    yield compact_json({"session": about}).encode()
    history = document.get("history")
    whole = isinstance(history, list)
    entry_lines = (
        item_lines(as_list(history), "entry") if whole else array_lines(data, "entry", is_entry)
    )
    for line in entry_lines:
        entry = decode_record(line)
        lean = _lean(as_object(entry.get("entry"))) if entry else None
        yield compact_json({"entry": lean}).encode() if lean else line


def _created(path: str, session: str) -> Json:
    """When a session was created, as the list of all says."""
    index = side_file(os.path.join(os.path.dirname(path), INDEX)) or b"[]"
    listed = decode_record(b'{"all":%b}' % index) or {}
    for entry in map(as_object, as_list(listed.get("all"))):
        if entry.get("sessionId") == session:
            stated = as_text(entry.get("dateCreated"))
            return int(stated) if stated.isdecimal() and len(stated) < 16 else stated
    return None


def is_entry(record: Record) -> bool:
    """Whether an object is an entry of the history, and not one nested in it."""
    return "role" in as_object(record.get("message"))


def _lean(entry: Record) -> Record:
    """An entry without the prompt it repeats; of that only the model is of use."""
    lean = {name: value for name, value in entry.items() if name not in _BULK}
    for log in map(as_object, as_list(entry.get("promptLogs"))):
        options = as_object(log.get("completionOptions"))
        if model := as_text(options.get("model")) or as_text(log.get("modelTitle")):
            lean["model"] = model
    if as_list(entry.get("contextItems")):
        lean["attached"] = True
    return lean


_BULK = frozenset({"promptLogs", "editorState", "contextItems"})


def emit(source: SourceFile, records: Records, bundle: Normalized) -> None:
    """Read a whole session."""
    if not records:
        return
    about = as_object(records[0][1].get("session"))
    name = os.path.splitext(os.path.basename(source.path))[0]
    part = PartBuilder(as_text(about.get("sessionId")) or name)
    title = as_text(about.get("title"))
    if title.startswith(("<think", "New Session")):  # the first prompt says more
        title = ""
    part.begin(cwd=uri_path(as_text(about.get("workspaceDirectory"))) or "", title=title)
    created = parse_time(about.get("created"))
    if created is not None:
        part.note_time(created, 0)
    emitter = HistoryEmitter(part, bundle)
    emitter.model = as_text(about.get("chatModelTitle"))
    for _, record in records[1:]:
        emitter.emit(as_object(record.get("entry")))
    if emitter.model:
        part.note_model(emitter.model, 0)
    _spend(emitter, as_object(about.get("usage")), created)
    emitter.finish(source.mtime_ns // 1_000_000 if created is None else None)


def _spend(emitter: HistoryEmitter, usage: Record, at: int | None) -> None:
    """One figure for the whole session, which a later one replaces."""
    part, cost = emitter.part, usage.get("totalCost")
    spent = as_count(usage.get("promptTokens")), as_count(usage.get("completionTokens"))
    if any(spent) and part.events:
        usd = float(cost) if isinstance(cost, int | float) and cost >= 0 else None
        key = f"{part.external_id}:total"
        part.spend(Usage(key, emitter.model, at, input=spent[0], output=spent[1], usd=usd))


class HistoryEmitter(EventEmitter):
    """Turns the history of one session into events."""

    model = ""
    _answered: frozenset[str] = frozenset()
    """Calls whose result was emitted."""

    def emit(self, entry: Record) -> None:
        """Take in one entry."""
        message = as_object(entry.get("message"))
        role = as_text(message.get("role"))
        if entry.get("attached"):
            self.ignore("attachments")
        if model := as_text(entry.get("model")):
            self.model = model
            self.part.note_model(model, len(self.part.events))
        if summary := as_text(entry.get("conversationSummary")):
            self.compact(summary)
        self._reason(as_object(entry.get("reasoning")))
        text = _text(message.get("content"))
        if role == "user":
            self.prompt(text)
        elif role == "assistant":
            self._answer(entry, message, text)
        elif role == "thinking":
            self.think(text)
        elif role == "tool":
            self._result(as_text(message.get("toolCallId")), text)
        elif role == "system":
            self.ignore("system prompt")
        else:
            self.unknown(f"message/{role or 'no role'}", entry)

    def _reason(self, reasoning: Record) -> None:
        """Thinking has times of its own; nothing else has."""
        if text := as_text(reasoning.get("text")):
            self.at = parse_time(reasoning.get("startAt"))
            self.think(text)
            self.at = None

    def _answer(self, entry: Record, message: Record, text: str) -> None:
        if thought := _THOUGHT.match(text):
            self.think(thought[1].strip())
            text = text[thought.end() :]
        states = as_list(entry.get("toolCallStates")) or [entry.get("toolCallState")]
        call_states = [state for state in map(as_object, states) if state]
        if text.strip() or not (call_states or as_list(message.get("toolCalls"))):
            self.say(text)
        calls = {as_text(c.get("id")): c for c in map(as_object, as_list(message.get("toolCalls")))}
        for state in call_states:
            name = as_text(state.get("toolCallId"))
            self._state(state, as_object(state.get("toolCall")) or calls.get(name, {}))
            calls.pop(name, None)
        for name, call in calls.items():
            self._call(call, name, None)

    def _call(self, call: Record, call_id: str, parsed: Json) -> None:
        function = as_object(call.get("function"))
        self.call(as_text(function.get("name")), parsed or function.get("arguments"), call_id)

    def _state(self, state: Record, call: Record) -> None:
        status, output = as_text(state.get("status")), state.get("output")
        call_id = as_text(state.get("toolCallId")) or as_text(call.get("id"))
        self._call(call, call_id, state.get("parsedArgs"))
        items = map(as_object, as_list(output))
        text = "\n".join(filter(None, (as_text(item.get("content")) for item in items)))
        text = output if isinstance(output, str) else text
        if status in ("errored", "canceled"):
            self._result(call_id, text or status, failed=True)
        elif text or status == "done":
            self._result(call_id, text)

    def _result(self, call_id: str, text: str, *, failed: bool = False) -> None:
        if call_id and call_id in self._answered:
            self.ignore("repeated result")
            return
        self._answered |= {call_id}
        self.result(text, call_id, failed=failed)


def _text(content: Json) -> str:
    """A message as text: parts of one, or the whole."""
    if isinstance(content, str):
        return content
    parts = (as_text(as_object(part).get("text")) for part in as_list(content))
    return "\n".join(filter(None, parts))


ADAPTER = made_lines_adapter(
    AGENT, discover=discover, lines=document_lines(lines), emit=emit, headings=1
)
