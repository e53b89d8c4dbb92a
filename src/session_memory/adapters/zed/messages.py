"""What the messages of a Zed thread mean."""

from __future__ import annotations

from session_memory.adapters.common import (
    Json,
    Normalized,
    SourceFile,
    as_count,
    as_list,
    as_object,
    as_text,
    parse_time,
)
from session_memory.adapters.emit_events import EventEmitter
from session_memory.adapters.excerpt import compact_json
from session_memory.adapters.gather import PartBuilder
from session_memory.adapters.whole_log import Record, Records
from session_memory.core.schema import ToolClass, Usage

_TOOLS: dict[str, ToolClass] = {
    "copy_path": "edit",
    "create_directory": "edit",
    "delete_path": "edit",
    "diagnostics": "read",
    "find_path": "search",
    "move_path": "edit",
    "spawn_agent": "agent",
}
_TOKENS = (
    "input_tokens",
    "output_tokens",
    "cache_creation_input_tokens",
    "cache_read_input_tokens",
)


def is_message(record: Record) -> bool:
    """Whether an object is a message of a thread, and not one nested in it."""
    return "User" in record or "Agent" in record


def emit(source: SourceFile, records: Records, bundle: Normalized) -> None:
    """Read one thread."""
    rows = [record for _, record in records]
    first = next((row for row in rows if "thread" in row), Record())
    thread, document = as_object(first.get("thread")), as_object(first.get("document"))
    name = as_text(thread.get("id")) or source.path.rpartition("#")[2]
    emitter = ThreadEmitter(PartBuilder(name, as_text(thread.get("parent_id")) or None), bundle)
    emitter.begin(thread, document)
    for row in rows:
        if "message" in row:
            emitter.emit(row.get("message"))
    emitter.settle_remainder(document)
    emitter.finish()


class ThreadEmitter(EventEmitter):
    """Turns the messages of one thread into events, in their order. None of them has a time."""

    _model = ""
    _opened: int | None = None

    def begin(self, thread: Record, document: Record) -> None:
        """What the row and the head of the document say."""
        self._requests = as_object(document.get("request_token_usage"))
        self._model = as_text(as_object(document.get("model")).get("model"))
        folders = as_text(thread.get("folder_paths")).splitlines()
        title = as_text(document.get("title")) or as_text(thread.get("summary"))
        self.part.begin(cwd=folders[0] if folders else "", title=title)
        if self._model:
            self.part.note_model(self._model, 0)
        for name in ("created_at", "updated_at"):
            if (at := parse_time(thread.get(name))) is not None:
                self._opened = at if self._opened is None else self._opened
                self.part.note_time(at, 0)

    def emit(self, message: Json) -> None:
        """One message."""
        record = as_object(message)
        if message == "Resume":
            self.ignore("resume")
        elif "User" in record:
            self._emit_user(as_object(record["User"]))
        elif "Agent" in record:
            self._emit_agent(as_object(record["Agent"]))
        else:
            self.unknown("message", message)

    def _emit_user(self, user: Record) -> None:
        texts: list[str] = []
        for piece in map(as_object, as_list(user.get("content"))):
            if "Text" in piece:
                texts.append(as_text(piece["Text"]))
            elif "Mention" in piece or "Image" in piece:
                self.ignore(f"attachment/{next(iter(piece))}")
            else:
                self.unknown("user/content", piece)
        self.prompt("".join(texts))
        self._spend(as_text(user.get("id")))

    def _emit_agent(self, agent: Record) -> None:
        results = dict(as_object(agent.get("tool_results")))
        for piece in as_list(agent.get("content")):
            record = as_object(piece)
            if "Text" in record:
                self.say(as_text(record["Text"]))
            elif "Thinking" in record:
                self.think(as_text(as_object(record["Thinking"]).get("text")))
            elif "RedactedThinking" in record or piece == "RedactedThinking":
                self.ignore("reasoning/sealed")
            elif "ToolUse" in record:
                self._call(as_object(record["ToolUse"]), results)
            else:
                self.unknown("agent/content", piece)
        for call_id, result in results.items():  # of calls that are not there
            self._result(call_id, as_object(result))

    def _call(self, use: Record, results: Record) -> None:
        name, call_id = as_text(use.get("name")), as_text(use.get("id"))
        given = use.get("input")
        self.call(name, use.get("raw_input") if given is None else given, call_id, _TOOLS.get(name))
        if call_id in results:
            self._result(call_id, as_object(results.pop(call_id)))

    def _result(self, call_id: str, result: Record) -> None:
        text = _text_of(result.get("content")) or _text_of(result.get("output"))
        self.result(text, call_id, failed=result.get("is_error") is True)

    def _spend(self, message: str) -> None:
        """What the requests that answer a prompt cost."""
        spent = [as_count(as_object(self._requests.get(message)).get(name)) for name in _TOKENS]
        if any(spent):
            self.spend(self._usage(message, spent))

    def settle_remainder(self, document: Record) -> None:
        """The tokens of the thread that no prompt names: each names only its last request."""
        total = as_object(document.get("cumulative_token_usage"))
        named = [as_object(usage) for usage in self._requests.values()]
        rest = [
            max(0, as_count(total.get(name)) - sum(as_count(usage.get(name)) for usage in named))
            for name in _TOKENS
        ]
        if any(rest):
            self.part.spend(self._usage("rest", rest))

    def _usage(self, name: str, spent: list[int]) -> Usage:
        return Usage(
            key=f"{self.part.external_id}:{name}",
            model=self._model,
            at=self._opened,
            input=spent[0],
            output=spent[1],
            cache_write_5m=spent[2],
            cache_read=spent[3],
        )


def _text_of(content: Json) -> str:
    """A result as text: as it stands, named by its kind, or a list of such pieces."""
    if content is None or isinstance(content, str):
        return content or ""
    if isinstance(content, list):
        return "\n".join(filter(None, map(_text_of, as_list(content))))
    record = as_object(content)
    if "Image" in record:
        return "[image]"
    named = record.get("Text", record.get("text"))
    return named if isinstance(named, str) else compact_json(content)
