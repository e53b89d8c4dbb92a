"""What each record of a Kimi log means, in the form of Kimi Code and in that of the older CLI."""

from __future__ import annotations

from session_memory.adapters.common import (
    Json,
    as_count,
    as_list,
    as_object,
    as_text,
    parse_time,
    rewound,
)
from session_memory.adapters.emit_events import EventEmitter
from session_memory.adapters.whole_log import Record
from session_memory.core.schema import Usage

_QUIET = frozenset(
    {
        "context.append_message",  # the prompts and answers once more
        "metadata",
        "step.begin",
        "turn.begin",
        "turn.end",
        "StepBegin",
        "TurnEnd",
        "ApprovalRequest",
        "ApprovalRequestResolved",
        "ApprovalResponse",
        "ToolCallPart",
        "ToolCallRequest",
        "CompactionBegin",
    }
)
_TOKENS = (
    ("inputOther", "output", "inputCacheRead", "inputCacheCreation"),
    ("input_other", "output", "input_cache_read", "input_cache_creation"),
)


def is_record(record: Record) -> bool:
    """Whether an object is a record of either form, and not one nested in it."""
    kind, inner = as_text(record.get("type")), as_object(record.get("message"))
    if "timestamp" in record:
        return "type" in inner
    return kind == "metadata" or kind.startswith(_OUTER) or bool(kind and "time" in record)


_OUTER = ("config.", "context.", "turn.", "usage.")
"""How types begin that stand at the top of a line, and not inside another record."""


class WireEmitter(EventEmitter):
    """Turns the records of one agent's log into events, in their order."""

    _model = ""
    _responses = 0
    _has_step_usage = False

    def emit(self, records: list[Record]) -> None:
        """Take in all records."""
        self._turns: list[int] = []
        self._has_step_usage = any(
            as_object(as_object(record.get("event")).get("usage")) for record in records
        )
        for record in records:
            inner = as_object(record.get("message"))
            if "timestamp" in record and inner:
                self.at = parse_time(record.get("timestamp"))
                self._emit_old(as_text(inner.get("type")), as_object(inner.get("payload")))
            else:
                self.at = parse_time(record.get("time"))
                self._emit(as_text(record.get("type")), record)

    def _emit(self, kind: str, record: Record) -> None:
        if kind in ("turn.prompt", "turn.steer"):
            self._ask(record.get("input"), begins=kind == "turn.prompt")
        elif kind == "context.append_loop_event":
            self._emit_event(as_object(record.get("event")))
        elif kind == "context.undo":
            self._undo(as_count(record.get("count")))
        elif kind == "config.update":
            self._configure(record)
        elif kind == "usage.record":
            if self._has_step_usage:
                self.ignore("usage.record/repeated")
            else:
                self._spend(record)
        elif kind in _QUIET:
            self.ignore(kind)
        else:
            self.unknown(kind or "no type", record)

    def _emit_event(self, event: Record) -> None:
        kind = as_text(event.get("type"))
        if kind == "content.part":
            self._say(as_object(event.get("part")))
        elif kind == "tool.call":
            name, call_id = as_text(event.get("name")), as_text(event.get("toolCallId"))
            self.call(name, event.get("args"), call_id)
        elif kind == "tool.result":
            self._result(as_text(event.get("toolCallId")), as_object(event.get("result")))
        elif kind == "step.end":
            self._spend(event)
            if event.get("finishReason") == "error":
                self.fail(as_text(event.get("error")), "step_failed")
        elif kind in _QUIET:
            self.ignore(kind)
        else:
            self.unknown(f"event/{kind}", event)

    def _emit_old(self, kind: str, payload: Record) -> None:
        if kind == "TurnBegin":
            self._ask(payload.get("user_input"), begins=True)
        elif kind == "SteerInput":
            self._ask(payload.get("user_input"), begins=False)
        elif kind == "ContentPart":
            self._say(payload)
        elif kind == "ToolCall":
            function = as_object(payload.get("function"))
            name, given = as_text(function.get("name")), function.get("arguments")
            self.call(name, given, as_text(payload.get("id")))
        elif kind == "ToolResult":
            value = as_object(payload.get("return_value"))
            self._result(as_text(payload.get("tool_call_id")), value)
        elif kind == "StatusUpdate":
            self._spend({"usage": payload.get("token_usage")})
        elif kind == "StepInterrupted":
            self.interrupt("the user stopped the step")
        elif kind == "CompactionEnd":
            self.compact("")
        elif kind in _QUIET:
            self.ignore(kind)
        else:
            self.unknown(kind or "no type", payload)

    def _ask(self, given: Json, *, begins: bool) -> None:
        if begins:
            self._turns.append(len(self.part.events))
        self.prompt(self._text_of(given))

    def _say(self, part: Record) -> None:
        kind = as_text(part.get("type"))
        if kind == "text":
            self.say(as_text(part.get("text")))
        elif kind == "think":
            self.think(as_text(part.get("think")) or as_text(part.get("text")))
        else:
            self.unknown(f"part/{kind}", part)

    def _result(self, call_id: str, result: Record) -> None:
        failed = result.get("isError") is True or result.get("is_error") is True
        words = (self._text_of(result.get("output")), as_text(result.get("message")))
        self.result("\n".join(word for word in words if word), call_id, failed=failed)

    def _text_of(self, given: Json) -> str:
        """The text of a list of parts, or text as it stands."""
        if isinstance(given, str):
            return given
        texts: list[str] = []
        for part in map(as_object, as_list(given)):
            if part.get("type") == "text":
                texts.append(as_text(part.get("text")))
            else:
                self.ignore("attachment")
        return "\n".join(texts)

    def _configure(self, record: Record) -> None:
        if cwd := as_text(record.get("cwd")):
            self.part.note("cwd", cwd, 0)
        if model := as_text(record.get("modelAlias")):
            self._model = model
            self.part.note_model(model, len(self.part.events))

    def _spend(self, record: Record) -> None:
        """What a step cost; a result of one of its tools may stand before it."""
        usage = as_object(record.get("usage")) or record
        if model := as_text(record.get("model")):
            self._model = model
            self.part.note_model(model, len(self.part.events))
        names = next((names for names in _TOKENS if names[0] in usage), _TOKENS[0])
        fresh, said, read, written = (as_count(usage.get(name)) for name in names)
        if not (fresh or said or read or written):
            self.ignore("usage/empty")
            return
        self._responses += 1
        spent = Usage(
            key=f"{self.part.external_id}:{self._responses}",
            model=self._model,
            at=self.at,
            input=fresh,
            output=said,
            cache_read=read,
            cache_write_5m=written,
        )
        self.part.spend(spent)
        last = next((e for e in reversed(self.part.events) if e.kind != "tool_result"), None)
        if last is not None and last.origin in ("agent", "subagent") and last.usage_key is None:
            last.usage_key = spent.key

    def _undo(self, count: int) -> None:
        """The user took back the last turns; their lines stay in the log."""
        if not count or not self._turns:
            self.ignore("context.undo/nothing")
            return
        first = self._turns[-min(count, len(self._turns))]
        del self._turns[-count:]
        events = self.part.events
        events[first:] = [
            event if event.label == "rewound" else rewound(event) for event in events[first:]
        ]
        self.ignore("context.undo")
