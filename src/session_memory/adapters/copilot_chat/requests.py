"""What the requests of a chat say: prompt, answer, tool calls and their results."""

from __future__ import annotations

from session_memory.adapters.common import (
    Json,
    as_count,
    as_list,
    as_object,
    as_text,
    classify_tool,
    parse_time,
)
from session_memory.adapters.emit_events import EventEmitter
from session_memory.adapters.excerpt import EXCERPT, compact_json
from session_memory.adapters.vscode_places import uri_of
from session_memory.adapters.whole_log import Record
from session_memory.core.schema import ToolClass, Usage

_SILENT = frozenset(
    {
        "codeblockUri",
        "command",
        "confirmation",
        "elicitationSerialized",
        "mcpServersStarting",
        "multiDiffData",
        "prepareToolInvocation",
        "progressMessage",
        "progressTaskSerialized",
        "pullRequest",
        "references",
        "undoStop",
        "usedContext",
        "warning",
    }
)
_TOOLS: dict[str, ToolClass] = {
    "runinterminal": "shell",
    "getterminaloutput": "shell",
    "replacestring": "edit",
    "multireplacestring": "edit",
    "insertedit": "edit",
    "inserteditintofile": "edit",
    "replacestringinfile": "edit",
    "editnotebook": "edit",
    "createdirectory": "edit",
    "findfiles": "search",
    "findtextinfiles": "search",
    "searchcodebase": "search",
    "semanticsearch": "search",
    "filesearch": "search",
    "grepsearch": "search",
    "listdirectory": "read",
    "fetchwebpage": "web",
    "runsubagent": "agent",
    "managetodolist": "plan",
}
_SUFFIX = "__vscode-"
"""Behind the id of a call in `metadata` stands this and a number."""


class ChatEmitter(EventEmitter):
    """Turns the requests of one chat into events, in their order."""

    _text = ""
    """Markdown and references read so far: they are pieces of one sentence."""

    def emit(self, requests: list[Json]) -> None:
        """Take in all requests."""
        for number, request in enumerate(map(as_object, requests)):
            self.at = parse_time(request.get("timestamp"))
            message = request.get("message")
            prompt = message if isinstance(message, str) else as_object(message).get("text")
            if not isinstance(prompt, str):
                self.unknown("request", request)
                continue
            self._request(request, prompt, number)

    def _request(self, request: Record, prompt: str, number: int) -> None:
        if as_list(as_object(request.get("variableData")).get("variables")):
            self.ignore("attachments")
        if request.get("isSystemInitiated") is True:
            self.inject(prompt, "system_initiated")
        elif request.get("confirmation"):  # a button was clicked: the editor words what it meant
            self.inject(prompt, "confirmation")
        else:
            self.prompt(prompt)
        result = as_object(request.get("result"))
        metadata = as_object(result.get("metadata"))
        self._spend(request, result, metadata, number)
        items = [as_object(item) for item in as_list(request.get("response"))]
        pairs = pair_calls(items, metadata)
        for item, call in zip(items, pairs, strict=True):
            self._item(item, call, metadata, edited=any(pairs))
        self._flush()
        unpaired = sum(len(calls) for calls in _rounds(metadata)) - sum(map(bool, pairs))
        for _ in range(unpaired):
            self.ignore("tool call without a place in the answer")
        error = as_object(result.get("errorDetails"))
        if request.get("isCanceled") is True:
            self.interrupt("the user cancelled the request")
        elif error:
            self.fail(as_text(error.get("message")), "request_failed")
        ended = parse_time(as_object(request.get("modelState")).get("completedAt"))
        ended = ended or parse_time(request.get("responseTimestamp"))
        if ended is not None:
            self.part.note_time(ended, len(self.part.events))

    def _spend(self, request: Record, result: Record, metadata: Record, number: int) -> None:
        """Tokens stand in the result or on the request: two statements of the same."""
        model = stated_model(request, result, metadata)
        if model:
            self.part.note_model(model, len(self.part.events))
        spent = as_count(metadata.get("promptTokens")), as_count(metadata.get("outputTokens"))
        if not any(spent):
            spent = as_count(request.get("promptTokens")), as_count(request.get("completionTokens"))
        if any(spent):
            name = as_text(request.get("requestId")) or str(number)
            self.spend(
                Usage(
                    key=f"{self.part.external_id}:{name}",
                    model=model,
                    at=self.at,
                    input=spent[0],
                    output=spent[1],
                )
            )

    def _item(self, item: Record, call: Record | None, metadata: Record, *, edited: bool) -> None:
        kind = as_text(item.get("kind"))
        if (kind == "" and "value" in item) or kind == "markdownContent":
            self._text += _value_text(item.get("value") or item.get("content"))
            return
        if kind == "inlineReference":
            self._text += _reference(item)
            return
        self._flush()
        if kind == "thinking":
            value = item.get("value")
            pieces = map(as_text, as_list(value))
            self.think(value if isinstance(value, str) else "".join(pieces))
        elif kind == "toolInvocationSerialized":
            self._call(item, call or {}, metadata)
        elif kind == "textEditGroup":
            self._edit(item, edited=edited)
        elif kind in _SILENT:
            self.ignore(f"response/{kind}")
        else:
            self.unknown(f"response/{kind or 'no kind'}", item)

    def _flush(self) -> None:
        if self._text:
            self.say(self._text)
            self._text = ""

    def _edit(self, item: Record, *, edited: bool) -> None:
        """An edit; where tools were called, it is what one of them did."""
        if edited:
            self.ignore("response/textEditGroup")
            return
        given = {"path": uri_of(item.get("uri")), "edits": item.get("edits")}
        self.call("textEditGroup", given, "", "edit")

    def _call(self, item: Record, call: Record, metadata: Record) -> None:
        special = as_object(item.get("toolSpecificData"))
        name = as_text(item.get("toolId")) or as_text(call.get("name"))
        given: Json = call.get("arguments")
        if not given:
            command = as_object(special.get("commandLine"))
            line = as_text(command.get("toolEdited")) or as_text(command.get("original"))
            given = {"command": line} if line else _value_text(item.get("invocationMessage"))
        tool_class = _TOOLS.get(plain_name(name)) or classify_tool(name.removeprefix("copilot_"))
        call_id = as_text(item.get("toolCallId")).partition(_SUFFIX)[0]
        self.call(name, given, call_id, tool_class)
        self._result(item, call, metadata, call_id)

    def _result(self, item: Record, call: Record, metadata: Record, call_id: str) -> None:
        results = as_object(metadata.get("toolCallResults"))
        stored = as_object(results.get(as_text(call.get("id"))))
        special, details = as_object(item.get("toolSpecificData")), item.get("resultDetails")
        terminal = as_object(special.get("terminalCommandOutput"))
        parts = as_list(stored.get("content")) or as_list(as_object(details).get("output"))
        text = "".join(_value_text(as_object(part).get("value")) for part in parts)
        text = text or as_text(terminal.get("text"))
        code = as_object(special.get("terminalCommandState")).get("exitCode")
        failed = as_object(details).get("isError") is True
        if _is_refused(item.get("isConfirmed")):
            shown = text or _value_text(item.get("pastTenseMessage")) or "refused"
            self.result(shown, call_id, failed=True).label = "denied"
        elif text or type(code) is int:
            event = self.result(text, call_id, failed=failed)
            if type(code) is int:
                event.exit_code, event.is_error = code, code != 0 or event.is_error


def pair_calls(items: list[Record], metadata: Record) -> list[Record | None]:
    """For each item the call that `metadata` holds of it: by id, else in order by equal tool."""
    rounds = [as_object(call) for calls in _rounds(metadata) for call in calls]
    paired: list[Record | None] = [None] * len(items)
    tools = [n for n, i in enumerate(items) if i.get("kind") == "toolInvocationSerialized"]
    for number in tools:
        name = as_text(items[number].get("toolCallId")).partition(_SUFFIX)[0]
        same = (c for c in rounds if name and as_text(c.get("id")).partition(_SUFFIX)[0] == name)
        if (call := next(same, None)) is not None:
            paired[number] = call
            rounds.remove(call)
    for number in tools:
        if paired[number] is None:
            tool = plain_name(as_text(items[number].get("toolId")))
            alike = (c for c in rounds if plain_name(as_text(c.get("name"))) == tool)
            if (call := next(alike, None)) is not None:
                paired[number] = call
                rounds.remove(call)
    return paired


def _rounds(metadata: Record) -> list[list[Json]]:
    rounds = as_list(metadata.get("toolCallRounds"))
    return [as_list(as_object(each).get("toolCalls")) for each in rounds]


def stated_model(request: Record, result: Record, metadata: Record) -> str:
    """The model that answered; `auto` is none, but what it came to is said elsewhere."""
    if resolved := as_text(metadata.get("resolvedModel")):
        return resolved
    named = as_text(request.get("modelId")).rpartition("/")[2]
    if named and named != "auto":
        return named
    return as_text(result.get("details")).partition("•")[0].strip()


def plain_name(name: str) -> str:
    """A tool's name as both of its spellings have it."""
    return name.removeprefix("copilot_").replace("_", "").lower()


def _is_refused(confirmed: Json) -> bool:
    if isinstance(confirmed, dict):
        confirmed = as_object(confirmed).get("type")
        return type(confirmed) is int and confirmed == 0
    return confirmed is False


def _value_text(value: Json) -> str:
    """Text, or an object around one; anything else as JSON."""
    if isinstance(value, str):
        return value
    inner = as_object(value).get("value")
    if isinstance(inner, str):
        return inner
    return "" if value is None else compact_json(value, EXCERPT)


def _reference(item: Record) -> str:
    """The file or symbol named in the middle of a sentence."""
    place = as_object(item.get("inlineReference"))
    name = as_text(item.get("name")) or as_text(place.get("name"))
    return name or uri_of(place.get("uri") or place).replace("\\", "/").rpartition("/")[2]
