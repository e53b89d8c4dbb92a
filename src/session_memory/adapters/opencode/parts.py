"""Turns the messages and parts of an OpenCode session into events, line by line."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import msgspec

from session_memory.adapters.common import Json, RawEvent, as_list, as_object, as_text, parse_time
from session_memory.adapters.excerpt import EXCERPT, compact_json
from session_memory.adapters.gather import PartBuilder
from session_memory.adapters.opencode.tools import fill_call, fill_result, tool_class
from session_memory.adapters.opencode.usage import usage_of
from session_memory.core.schema import EventKind, Origin

Record = dict[str, Json]


class Message(msgspec.Struct):
    """What later parts need to know of their message, also in the next block."""

    id: str = ""
    role: str = ""
    model: str = ""
    created: int | None = None
    completed: int | None = None
    latest: int | None = None
    """The latest time seen so far, for parts that have none of their own."""
    is_summary: bool = False
    finish: str = ""
    stated: Record = {}
    """Tokens and cost of the whole message, for one that has no steps."""
    error: Record = {}
    steps: int = 0

    @classmethod
    def of(cls, name: str, info: Record) -> Message:
        """The message of a record; absent or odd fields stay empty."""
        time = as_object(info.get("time"))
        created = parse_time(time.get("created"))
        return cls(
            id=name,
            role=as_text(info.get("role")),
            model=as_text(info.get("modelID")),
            created=created,
            completed=parse_time(time.get("completed")),
            latest=created,
            is_summary=info.get("summary") is True,
            finish=as_text(info.get("finish")),
            stated={"tokens": info.get("tokens"), "cost": info.get("cost")},
            error=as_object(info.get("error")),
        )


class EventBuilder:
    """Adds events, usages and facts of one session to its part."""

    def __init__(self, part: PartBuilder, version: str, message: Message) -> None:
        self.part = part
        self.message = message
        self.ignored: Counter[str] = Counter()
        self.unknown: Counter[tuple[str, str]] = Counter()
        self._version = version
        self._agent: Origin = "subagent" if part.parent else "agent"
        self._pos = self._sub = 0

    def read(self, pos: int, record: Record) -> None:
        """Take in one line that is not the session's own."""
        self._pos, self._sub = pos, 0
        if "message" in record:
            self._begin(as_text(record.get("id")), as_object(record["message"]))
        elif "part" in record:
            self._emit_part(as_object(record["part"]))
        else:
            self._finish()

    # --- messages ---

    def _begin(self, name: str, info: Record) -> None:
        self.message = message = Message.of(name, info)
        if message.role not in ("user", "assistant"):
            self.unknown[self._version, f"message/{message.role or 'no role'}"] += 1
        if message.model and message.role == "assistant":
            self.part.note("model", message.model, self._pos)
        if cwd := as_text(as_object(info.get("path")).get("cwd")):
            self.part.note("cwd", cwd, self._pos)

    def _finish(self) -> None:
        """The end of a message: what it cost if no step said so, and how it failed."""
        if not self.message.steps:
            self._spend(self.message.stated, self.message.finish)
        if self.message.error:
            self._fail(self.message)
        self.message = Message()  # parts of a message that cannot be read are not this one's

    def _fail(self, message: Message) -> None:
        name = as_text(message.error.get("name")) or "error"
        said = as_text(as_object(message.error.get("data")).get("message"))
        at = message.completed or message.latest
        if name == "MessageAbortedError":
            self._add("system", "harness", said or name, at, "interrupted")
        else:
            text = f"{name}: {said}" if said else name
            self._add("error", "harness", text, at, name).is_error = True

    # --- parts ---

    def _emit_part(self, part: Record) -> None:
        kind = as_text(part.get("type"))
        handler = _HANDLERS.get(kind)
        if handler is not None:
            handler(self, part)
        elif kind in _NOTHING_TO_KEEP:
            self.ignored[kind] += 1
        else:
            self.unknown[self._version, f"part/{kind or 'no type'}"] += 1
            self._add("other", "harness", compact_json(part, EXCERPT), None, kind or "no type")

    def text(self, part: Record) -> None:
        """What the user or the agent said, or what the client put in their mouth."""
        text, at = as_text(part.get("text")), _time(part, "start")
        if not text:
            self.ignored["text/empty"] += 1
        elif self.message.is_summary:
            self._add("injected", "harness", text, at, "compact_summary")
        elif part.get("synthetic") is True or part.get("ignored") is True:
            self._add("injected", "harness", text, at, "synthetic")
        elif self.message.role == "assistant":
            self._add("assistant_text", self._agent, text, at)
        elif self.message.role != "user":  # a text of unknown author must not become a prompt
            self._add("other", "harness", text, at, "no_role")
        elif self.part.parent:
            self._add("injected", "agent", text, at, "subagent_prompt")
        else:
            self._add("user_prompt", "user", text, at)

    def reasoning(self, part: Record) -> None:
        """What the model thought, where it is not sealed."""
        if text := as_text(part.get("text")):
            self._add("reasoning", self._agent, text, _time(part, "start"))
        else:
            self.ignored["reasoning/empty"] += 1

    def tool(self, part: Record) -> None:
        """A call, and its result when it has ended."""
        state = as_object(part.get("state"))
        call = self._add("tool_call", self._agent, "", _time(state, "start"))
        fill_call(call, part)
        if state.get("status") in ("completed", "error"):
            web = tool_class(as_text(part.get("tool"))) == "web"
            result = self._add("tool_result", "web" if web else "tool", "", _time(state, "end"))
            fill_result(result, part)

    def step_finish(self, part: Record) -> None:
        """The end of one response of the model, and the place that says what it cost."""
        if not self.message.role:  # once its message can be read it counts, under another key
            self.ignored["step-finish/no_role"] += 1
            return
        self.message.steps += 1
        self._spend(part, as_text(part.get("reason")))

    def patch(self, part: Record) -> None:
        """Files a step changed, by whatever means."""
        files = tuple(as_text(file) for file in as_list(part.get("files")))
        if files:
            self._add("other", "harness", "\n".join(files), None, "patch").files = files

    def file(self, part: Record) -> None:
        """Something attached to a prompt; an image stands inline, and only its name is kept."""
        url = as_text(part.get("url"))
        path = as_text(as_object(part.get("source")).get("path"))
        name = path or as_text(part.get("filename")) or url.partition(",")[0]
        event = self._add("injected", "harness", name, None, "file")
        event.files = (path,) if path else ()

    def compaction(self, part: Record) -> None:
        """The context was condensed; the summary is the answer that follows."""
        how = "automatic" if part.get("auto") is True else "asked for"
        self._add("compaction", "harness", f"compaction ({how})", None, "compaction")

    def subtask(self, part: Record) -> None:
        """A command that hands its prompt to a sub-agent."""
        text = as_text(part.get("prompt")) or as_text(part.get("description"))
        self._add("injected", "harness", text, None, "subtask")

    def retry(self, part: Record) -> None:
        """A request that failed and was made again."""
        error = as_object(part.get("error"))
        said = as_text(as_object(error.get("data")).get("message")) or as_text(error.get("message"))
        text = said or as_text(error.get("name")) or "retry"
        self._add("error", "harness", text, _time(part, "created"), "retry").is_error = True

    # --- what all of them need ---

    def _spend(self, stated: Record, reason: str) -> None:
        message = self.message
        began = message.created or f"{self.part.external_id}:{message.id}"
        # A message whose only step is missing says the same, so both must be one usage.
        step = message.steps or 1
        at = message.created or message.latest  # not moved by a part that cannot be read yet
        usage = usage_of(stated, f"{began}:{step}", message.model, at)
        if usage is None:
            return
        self.part.spend(usage)
        event = self._add("system", "harness", reason or "unknown", None, "step-finish")
        event.usage_key = usage.key

    def _add(
        self, kind: EventKind, origin: Origin, text: str, at: int | None, label: str | None = None
    ) -> RawEvent:
        message = self.message
        if at is not None:
            message.latest = max(at, message.latest or at)
        # Ids are no identity: upstream redaction gives many messages the same one.
        event = RawEvent(
            pos=self._pos + self._sub,
            kind=kind,
            origin=origin,
            text=text,
            at=message.latest if at is None else at,
            identity=f"{self.part.external_id}:{message.id}",
            label=label,
        )
        self._sub += 1
        self.part.events.append(event)
        return event


def _time(record: Record, name: str) -> int | None:
    return parse_time(as_object(record.get("time")).get(name))


_HANDLERS: dict[str, Callable[[EventBuilder, Record], None]] = {
    "compaction": EventBuilder.compaction,
    "file": EventBuilder.file,
    "patch": EventBuilder.patch,
    "reasoning": EventBuilder.reasoning,
    "retry": EventBuilder.retry,
    "step-finish": EventBuilder.step_finish,
    "subtask": EventBuilder.subtask,
    "text": EventBuilder.text,
    "tool": EventBuilder.tool,
}
_NOTHING_TO_KEEP = frozenset(("agent", "snapshot", "step-start"))
"""Marks of the client's own, and the name of an agent that stands in the prompt as well."""
