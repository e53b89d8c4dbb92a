"""What each kind of entry in a Cline task means."""

from __future__ import annotations

import re

from session_memory.adapters.common import (
    Json,
    RawEvent,
    as_count,
    as_list,
    as_object,
    as_text,
    decode_record,
    parse_time,
)
from session_memory.adapters.emit_events import EventEmitter, settle_result
from session_memory.core.schema import ToolClass, Usage

Record = dict[str, Json]

_FOLDER = re.compile(
    r"<environment_details>.*?^# Current (?:Working|Workspace) Directory \((.+?)\) Files",
    re.S | re.M,
)
"""The only place a task names its folder; accepted there alone, as a user may type such words."""
_TOOLS: dict[str, ToolClass] = {
    "readFile": "read",
    "listFilesTopLevel": "read",
    "listFilesRecursive": "read",
    "listCodeDefinitionNames": "read",
    "searchFiles": "search",
    "codebaseSearch": "search",
    "editedExistingFile": "edit",
    "newFileCreated": "edit",
    "fileDeleted": "edit",
    "appliedDiff": "edit",
    "webFetch": "web",
    "newTask": "agent",
    "finishTask": "agent",
    "updateTodoList": "plan",
}
_RESULT_IN_CONTENT = frozenset(
    {"listFilesTopLevel", "listFilesRecursive", "listCodeDefinitionNames", "searchFiles"}
)
"""Tools whose `content` is what they found; elsewhere it is what they were given."""
_ANSWERS = frozenset({"text", "completion_result", "plan_mode_respond", "followup"})
_ERRORS = frozenset({"error", "diff_error", "api_req_failed", "clineignore_error"})
_COMPACTIONS = frozenset({"condense_context", "sliding_window_truncation"})
_BOOKKEEPING = frozenset(
    {
        "api_req_retried",
        "error_retry",
        "deleted_api_reqs",
        "checkpoint_created",
        "checkpoint_saved",
        "task_progress",
        "resume_task",
        "resume_completed_task",
        "auto_approval_max_req_reached",
        "mistake_limit_reached",
        "mcp_server_request_started",
        "api_req_finished",
    }
)


class TaskEmitter(EventEmitter):
    """Turns the entries of one task into events, in their order."""

    _model = ""
    _requests = _calls = 0
    _deleted: Json = None
    _call_id = ""
    _output: RawEvent | None = None
    """The result of the last command, whose output arrives in several entries."""

    def emit(self, entries: list[Record]) -> None:
        """Take in all entries of a task."""
        for number, entry in enumerate(entries):
            self.at = parse_time(entry.get("ts"))
            kind = as_text(entry.get("say")) or as_text(entry.get("ask"))
            if entry.get("partial") is True and (why := _drop_partial(entries, number)):
                self.ignore(why)
                continue
            self._note(entry)
            if number == 0 and kind in ("text", "task"):
                self.prompt(as_text(entry.get("text")))
            else:
                self._emit(kind, entry)

    def _note(self, entry: Record) -> None:
        model = as_text(as_object(entry.get("modelInfo")).get("modelId"))
        if model:
            self._model = model
            self.part.note_model(model, len(self.part.events))
        deleted = entry.get("conversationHistoryDeletedRange")
        if deleted is not None and deleted != self._deleted:
            self._deleted = deleted
            self.compact(f"messages {deleted} left the context")
        if as_list(entry.get("images")) or as_list(entry.get("files")):
            self.ignore("attachments")

    def _emit(self, kind: str, entry: Record) -> None:
        text = as_text(entry.get("text"))
        if kind in _ANSWERS:
            said = decode_record(text.encode("utf-8", "replace")) if text[:1] == "{" else None
            spoken = as_text((said or {}).get("response")) or as_text((said or {}).get("question"))
            self.say(spoken or text)
        elif kind == "reasoning":
            self.think(text or as_text(entry.get("reasoning")))
        elif kind == "user_feedback":
            self.prompt(text)
        elif kind == "user_feedback_diff":
            self.inject(text, kind)
        elif kind == "api_req_started":
            self._request(text)
        elif kind in ("tool", "command", "use_mcp_server"):
            self._call(kind, text)
        elif kind in ("command_output", "mcp_server_response"):
            self._result(kind, text)
        elif kind in _ERRORS:
            self.fail(text, kind)
        elif kind in _COMPACTIONS:
            self.compact(text)
        elif kind in _BOOKKEEPING:
            self.ignore(kind)
        else:
            self.unknown(kind or "no kind", entry)

    def _call(self, kind: str, text: str) -> None:
        self._calls += 1
        self._call_id, self._output = f"{self.part.external_id}:{self._calls}", None
        if kind == "command":
            self.call(kind, {"command": text}, self._call_id, "shell")
            return
        given = decode_record(text.encode("utf-8", "replace")) or {}
        if kind == "use_mcp_server":
            name = as_text(given.get("toolName")) or as_text(given.get("uri"))
            self.call(name, given.get("arguments") or given, self._call_id, "mcp")
            return
        name = as_text(given.get("tool"))
        result = as_text(given.get("content")) if name in _RESULT_IN_CONTENT else ""
        shown = {key: value for key, value in given.items() if key != "content" or not result}
        self.call(name, shown or text, self._call_id, _TOOLS.get(name))
        if result:
            self.result(result, self._call_id)

    def _result(self, kind: str, text: str) -> None:
        if not text:
            self.ignore(f"{kind}/empty")
        elif self._output is None or kind != "command_output":
            failed = kind == "mcp_server_response" and text.startswith("Error")
            self._output = self.result(text, self._call_id, failed=failed)
        else:
            self._output.text += text
            settle_result(self._output, failed=False)

    def _request(self, text: str) -> None:
        """A request: its cost, its failure, and the folder in what it sent; not what it sent."""
        self._requests += 1
        facts = decode_record(text.encode("utf-8", "replace"))
        if facts is None:
            self.ignore("api_req_started/unreadable")
            return
        if folder := _FOLDER.search(as_text(facts.get("request"))):
            self.part.note("cwd", folder.group(1), 0)
        cost = facts.get("cost")
        spent = [as_count(facts.get(name)) for name in _TOKENS]
        if any(spent):
            self.spend(
                Usage(
                    key=f"{self.part.external_id}:{self._requests}",
                    model=self._model,
                    at=self.at,
                    input=spent[0],
                    output=spent[1],
                    cache_write_5m=spent[2],
                    cache_read=spent[3],
                    usd=float(cost) if isinstance(cost, int | float) and cost >= 0 else None,
                )
            )
        if said := as_text(facts.get("streamingFailedMessage")):
            self.fail(said, "streaming_failed")
        elif facts.get("cancelReason") == "user_cancelled":
            self.interrupt("the user cancelled the request")


_TOKENS = ("tokensIn", "tokensOut", "cacheWrites", "cacheReads")


def _drop_partial(entries: list[Record], number: int) -> str | None:
    """Why an entry that was never completed is left out; None if it is the only copy of its text.

    The flag often stays for good, so it alone says nothing.
    """
    entry = entries[number]
    text = as_text(entry.get("text"))
    if not text.strip():
        return "partial/empty"
    if number == len(entries) - 1:
        return "partial/pending"
    kinds = (entry.get("say"), entry.get("ask"))
    for other in entries[number + 1 :]:
        same = (other.get("say"), other.get("ask")) == kinds
        if same and as_text(other.get("text")).startswith(text):
            return "partial/repeated"
    return None
