"""What each kind of step in an Antigravity conversation means."""

from __future__ import annotations

import re
from collections import deque

from session_memory.adapters.common import (
    Json,
    as_count,
    as_list,
    as_object,
    as_text,
    decode_record,
    parse_time,
)
from session_memory.adapters.emit_events import EventEmitter
from session_memory.adapters.excerpt import compact_json, excerpt
from session_memory.adapters.whole_log import Record
from session_memory.core.schema import ToolClass, Usage

_REQUEST = re.compile(r"<USER_REQUEST>\s*(.*?)\s*(?:</USER_REQUEST>|\Z)", re.S)
_CHANGE = re.compile(r"<USER_SETTINGS_CHANGE>(.*?)(?:</USER_SETTINGS_CHANGE>|\Z)", re.S)
_MODEL = re.compile(r"\bmodel\b[^\n]*? to [`\"']?([^\n`\"'.]+(?:\.\d[^\n`\"'.]*)*)", re.I)
_TIMES = re.compile(r"(?:(?:Created|Completed) At:[^\n]*\n)+\s*")
_CHILDREN = "Created the following subagents"
_CHILD = re.compile(r'"conversationId"\s*:\s*"([^"\n]{1,200})"')
_BULK = frozenset({"CONVERSATION_HISTORY", "KNOWLEDGE_ARTIFACTS", "EPHEMERAL_MESSAGE"})
_TOOLS: dict[str, ToolClass] = {
    "run_command": "shell",
    "command_status": "shell",
    "send_command_input": "shell",
    "view_file": "read",
    "list_dir": "read",
    "replace_file_content": "edit",
    "multi_replace_file_content": "edit",
    "write_to_file": "edit",
    "grep_search": "search",
    "find_by_name": "search",
    "search_web": "web",
    "read_url_content": "web",
    "invoke_subagent": "agent",
}


class StepEmitter(EventEmitter):
    """Turns the steps of one conversation into events, in their order."""

    first_prompt = ""
    children: tuple[str, ...] = ()
    """Conversations of sub-agents."""
    _model = ""

    def emit(self, steps: list[Record]) -> None:
        """Take in all steps."""
        self._open: deque[str] = deque()
        for step in steps:
            self.at = parse_time(step.get("created_at")) or self.at
            self._step(step)

    def _step(self, step: Record) -> None:
        kind, text = as_text(step.get("type")), _content(step.get("content"))
        source = as_text(step.get("source"))
        if kind == "USER_INPUT":
            self._user_input(text)
        elif kind == "PLANNER_RESPONSE":
            self._response(step, text)
        elif kind == "CHECKPOINT":
            self.compact(text)
        elif kind in _BULK:
            self.inject(excerpt(text), kind.lower())
        elif kind == "SYSTEM_MESSAGE":
            self.inject(text, kind.lower())
        elif kind == "ERROR_MESSAGE":
            self._error(step, text)
        elif source == "MODEL":
            self._result(step, text)
        elif kind == "NOTIFY_USER":
            self.add("system", "harness", text, "notice")
        else:
            self.unknown(kind or "step", step)

    def _user_input(self, text: str) -> None:
        if change := _CHANGE.search(text):
            if model := _MODEL.search(change[1]):
                self._model = model[1].strip()
                self.part.note_model(self._model, len(self.part.events))
            self.ignore("settings change")
        request = _REQUEST.search(text)
        prompt = request[1] if request else text
        self.first_prompt = self.first_prompt or prompt
        self.prompt(prompt)

    def _response(self, step: Record, text: str) -> None:
        spent = as_count(step.get("input_tokens")), as_count(step.get("output_tokens"))
        number = step.get("step_index")
        if any(spent):
            key = f"{self.part.external_id}:{number}"
            self.spend(Usage(key, self._model, self.at, input=spent[0], output=spent[1]))
        thought = as_text(step.get("thinking"))
        calls = as_list(step.get("tool_calls"))
        if thought:
            self.think(thought)
        if text.strip() or not (thought or calls):
            self.say(text)
        for index, call in enumerate(map(as_object, calls)):
            name = as_text(call.get("name"))
            call_id = f"{self.part.external_id}:{number}:{index}"
            self.call(name, plain_arguments(call.get("args")), call_id, _TOOLS.get(name))
            self._open.append(call_id)

    def _result(self, step: Record, text: str) -> None:
        """The answer to the oldest call without one: there are no ids."""
        call_id = self._open.popleft() if self._open else ""
        error = step.get("error")
        message = error if isinstance(error, str) else compact_json(error) if error else ""
        text = text[head.end() :] if (head := _TIMES.match(text)) else text
        failed = step.get("status") == "ERROR"
        event = self.result(text or message, call_id, failed=failed)
        code = step.get("exit_code")
        if type(code) is int:
            event.exit_code, event.is_error = code, code != 0 or failed
        if _CHILDREN in text or step.get("type") == "INVOKE_SUBAGENT":
            self.children += tuple(_CHILD.findall(text))

    def _error(self, step: Record, text: str) -> None:
        text = text or as_text(step.get("error"))
        if self._open:
            self.result(text, self._open.popleft(), failed=True)
        else:
            self.fail(text, "error_message")


def plain_arguments(given: Json) -> Json:
    """Arguments without the second coat of JSON that each of their values has."""
    if isinstance(given, str):
        given = decode_record(given.encode("utf-8", "replace")) or given
    if not isinstance(given, dict):
        return given
    return {name: _plain(value) for name, value in as_object(given).items()}


def _plain(value: Json) -> Json:
    if not isinstance(value, str) or value[:1] not in ('"', "[", "{"):
        return value
    inner = decode_record(b'{"v":%b}' % value.encode("utf-8", "replace"))
    return value if inner is None else inner.get("v")


def _content(value: Json) -> str:
    """A step's content: text, or an object around it."""
    if isinstance(value, str):
        return value
    inner = as_object(value).get("text")
    if isinstance(inner, str):
        return inner
    return compact_json(value) if value else ""
