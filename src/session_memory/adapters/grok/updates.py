"""Reads a Grok Build session from its update lines: messages, tools, turns, and what was undone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import msgspec

from session_memory.adapters.common import Json, RawEvent, as_list, as_object, as_text, rewound
from session_memory.adapters.excerpt import EXCERPT, compact_json
from session_memory.adapters.gather import PartBuilder
from session_memory.adapters.grok.kinds import IGNORED
from session_memory.adapters.grok.order import Line
from session_memory.adapters.grok.text import content_text, user_pieces
from session_memory.adapters.grok.tools import Call, Record, fill_call, fill_result, tool_class
from session_memory.adapters.grok.usage import usages_of
from session_memory.core.schema import EventKind, Origin

_LIVE = frozenset(
    {
        "assistant_text",
        "compaction",
        "injected",
        "reasoning",
        "tool_call",
        "tool_result",
        "user_prompt",
    }
)
"""What a rewind takes back; costs and errors stay."""


class Sides(msgspec.Struct, frozen=True):
    """What the side files of a session say about its updates."""

    outcomes: dict[str, str] = {}
    """How calls ended, by call id."""
    overflow: dict[str, str] = {}
    """Whole outputs that a record holds only the beginning of, by call id."""
    summaries: dict[str, str] = {}
    """What a compaction left of the conversation, by the name of its checkpoint file."""
    by_agent: bool = False
    """An agent talks to this one, so no human typed its prompts."""
    model: str = ""
    version: str = ""


class EventBuilder:
    """Takes a session's lines in order and fills its part."""

    def __init__(self, part: PartBuilder, sides: Sides) -> None:
        self.part = part
        self.ignored: Counter[str] = Counter()
        self.unknown: Counter[tuple[str, str]] = Counter()
        self.children: dict[str, str] = {}
        """Sub-agent session to the session that started it."""
        self._sides = sides
        self._agent: Origin = "subagent" if sides.by_agent else "agent"
        self._model = sides.model
        self._calls: dict[str, Call] = {}
        self._shown: set[str] = set()
        self._starts: dict[int, int] = {}
        """Prompt index to the place of its first event; only of turns that were not rewound."""
        self._numbered = False
        self._open: tuple[object, ...] | None = None
        self._pos = -1
        self._line = Line(0, {}, {}, None)

    def read(self, lines: list[Line]) -> None:
        """Read all lines of a session."""
        for line in lines:  # a call's input may come with a later record about it
            if line.kind in ("tool_call", "tool_call_update"):
                call_id = as_text(line.update.get("toolCallId"))
                self._calls[call_id] = self._calls.get(call_id, Call()).seen(line.update)
        for line in lines:
            self._line = line
            self._pos = max(self._pos, line.pos - 1)
            self._take(line)

    def _take(self, line: Line) -> None:
        kind, before = line.kind, len(self.part.events)
        handler = _HANDLERS.get(kind)
        if handler is not None:
            handler(self, line.update)
        elif kind in IGNORED:
            self.ignored[kind] += 1
        else:
            self.add("other", "harness", compact_json(line.update, EXCERPT), kind)
            self.unknown[self._sides.version, kind] += 1
        if line.at is not None:
            self.part.note("opened_at", line.at, line.pos)
            if len(self.part.events) > before:
                self.part.note_time(line.at, line.pos)

    def add(self, kind: EventKind, origin: Origin, text: str, label: str | None = None) -> RawEvent:
        """Append an event and return it, for the fields only some kinds have."""
        self._pos += 1
        event = RawEvent(self._pos, kind, origin, text, self._line.at, label=label)
        self.part.events.append(event)
        self._open = None
        return event

    # --- messages ---

    def _chunk(self, key: tuple[object, ...], kind: EventKind, origin: Origin, text: str) -> None:
        """A piece of a message: continues the last one if nothing came between them."""
        if self._open == key:
            self.part.events[-1].text += text
        elif text:
            self.add(kind, origin, text)
            self._open = key

    def user(self, update: Record) -> None:
        """What the human typed, or what the client says in their name."""
        detail = as_object(update.get("_meta"))
        index, content = detail.get("promptIndex"), update.get("content")
        if model := as_text(detail.get("modelId")):
            self._model = model
            self.part.note("model", model, self._line.pos)
        key = ("user", index, detail.get("hostTurn"))
        if self._open != key:
            self._starts_turn(index)
        if as_text(as_object(content).get("type")) in ("image", "audio"):
            self.add("other", "user", content_text(content), "image")
            return
        text = content_text(content)
        reason = as_text(detail.get("synthetic_reason")) or as_text(detail.get("syntheticReason"))
        if self._open == key:
            self.part.events[-1].text += text
            return
        for piece in user_pieces(text, reason, by_agent=self._sides.by_agent):
            self.add(piece.kind, piece.origin, piece.text, piece.label)
            self._open = key

    def _starts_turn(self, index: Json) -> None:
        """Remember where a prompt begins; once prompts are numbered, others begin no turn."""
        if type(index) is int:
            self._numbered = True
        elif self._numbered:
            return
        else:
            index = len(self._starts)
        self._starts.setdefault(index, len(self.part.events))

    def assistant(self, update: Record) -> None:
        """What the model says."""
        text = content_text(update.get("content"))
        self._chunk(("text", *self._response()), "assistant_text", self._agent, text)

    def thought(self, update: Record) -> None:
        """What the model thinks."""
        text = content_text(update.get("content"))
        self._chunk(("thought", *self._response()), "reasoning", self._agent, text)

    def _response(self) -> tuple[object, object]:
        """The prompt and the model's answer to it that a chunk is part of."""
        meta = self._line.meta
        return as_text(meta.get("promptId")), meta.get("streamStartMs")

    # --- tools ---

    def tool(self, update: Record) -> None:
        """A call, an update of it, or its end."""
        call_id = as_text(update.get("toolCallId"))
        call = self._calls[call_id]
        if call_id not in self._shown:
            self._shown.add(call_id)
            fill_call(self.add("tool_call", self._agent, ""), call, call_id or None)
        elif update.get("status") not in ("completed", "failed"):
            self.ignored["tool_call_update"] += 1
        if update.get("status") not in ("completed", "failed"):
            return
        web = tool_class(call.name, call.kind) == "web"
        event = self.add("tool_result", "web" if web else "tool", "")
        fill_result(event, update, self._sides.outcomes.get(call_id, ""))
        self._overflow(event, call_id)

    def _overflow(self, event: RawEvent, call_id: str) -> None:
        """The rest of a cut output, as an event of its own: a fork copies the record, not the file,
        and the copy must stay equal to the original."""
        whole = self._sides.overflow.get(call_id, "")
        if len(whole) > len(event.text):
            same = _common(whole, event.text)
            self.add("other", "tool", whole[same:], "overflow").call_id = call_id

    def plan(self, update: Record) -> None:
        """The whole plan, as a call of a planning tool: that is what it is in other flavours."""
        entries = as_list(update.get("entries"))
        event = self.add("tool_call", self._agent, compact_json({"plan": entries}))
        event.tool, event.tool_class = "plan", "plan"

    # --- turns ---

    def turn_completed(self, update: Record) -> None:
        """The end of a turn, and the only place that says what it cost."""
        reason = as_text(update.get("stop_reason")) or "unknown"
        stopped = reason in ("cancelled", "canceled")
        label = "interrupted" if stopped else "turn_completed"
        usages = usages_of(update, self._line.at, self._model)
        if as_object(update.get("usage")).get("usageIsIncomplete") is True:
            self.ignored["usage_incomplete"] += 1
        if self._sides.by_agent and usages:
            # The turn of the session that started this one holds it already.
            self.ignored["usage_in_parent"] += len(usages)
            usages = []
        if not usages:
            self.add("system", "harness", reason, label)
        for usage in usages:
            text = reason if len(usages) == 1 else f"{reason}: {usage.model}"
            self.add("system", "harness", text, label).usage_key = usage.key
            self.part.spend(usage)
            if usage.model:
                self.part.note("model", usage.model, self._line.pos)

    def rewind(self, update: Record) -> None:
        """The user went back: later turns stay as history, but are not part of the conversation."""
        target = update.get("target_prompt_index", update.get("targetPromptIndex"))
        if type(target) is not int:
            self.ignored["rewind_marker/no_target"] += 1
            return
        undone = {index: at for index, at in self._starts.items() if index >= target}
        events = self.part.events
        for place in range(min(undone.values(), default=len(events)), len(events)):
            if events[place].kind in _LIVE:
                events[place] = rewound(events[place])
        for index in undone:
            del self._starts[index]
        self.add("system", "harness", f"rewound to prompt {target}", "rewind")

    # --- the client about itself ---

    def compacted(self, update: Record) -> None:
        """The context was condensed."""
        before, after = update.get("tokens_before"), update.get("tokens_after")
        preview = as_text(update.get("summary_preview"))
        text = f"compaction from {before} to {after} tokens"
        self.add(
            "compaction", "harness", f"{text}: {preview}" if preview else text, self._line.kind
        )

    def checkpoint(self, update: Record) -> None:
        """What the context was condensed to, from the file the line names."""
        summary = self._sides.summaries.get(as_text(update.get("checkpoint_file")), "")
        if summary:
            self.add("injected", "harness", summary, "compact_summary")
        else:
            self.ignored["compaction_checkpoint"] += 1

    def failure(self, update: Record) -> None:
        """An error of the client or the service behind it."""
        message = as_text(update.get("message")) or as_text(update.get("error"))
        if not message and self._line.kind == "retry_state":
            self.ignored[f"retry_state/{as_text(update.get('type'))}"] += 1
            return
        event = self.add("error", "harness", message or self._line.kind, self._line.kind)
        event.is_error = True

    def hooks(self, update: Record) -> None:
        """Hooks that ran; only what they blocked or failed at is worth keeping."""
        for run in as_list(update.get("runs")):
            status = as_object(as_object(run).get("status"))
            detail = as_text(status.get("detail")) or as_text(status.get("error"))
            if status.get("status") in ("blocked", "failed"):
                name = as_text(as_object(run).get("name"))
                event = self.add("system", "harness", f"{name}: {detail}", "hook_errors")
                event.is_error = True
        self.ignored["hook_execution"] += 1

    def spawned(self, update: Record) -> None:
        """A sub-agent began; its own session says nothing of who started it."""
        self._link(update)
        self.add("system", "harness", as_text(update.get("description")), "subagent_spawned")

    def finished(self, update: Record) -> None:
        """A sub-agent ended; what it said stands in its own session."""
        status = as_text(update.get("status")) or "finished"
        error = as_text(update.get("error"))
        event = self.add(
            "system", "harness", f"{status}: {error}" if error else status, "subagent_finished"
        )
        event.is_error = status == "failed"

    def _link(self, update: Record) -> None:
        child = as_text(update.get("child_session_id")) or as_text(update.get("subagent_id"))
        parent = as_text(update.get("parent_session_id")) or self.part.external_id
        if child and child != parent:
            self.children[child] = parent

    def task(self, update: Record) -> None:
        """A command that runs in the background: its start or its end."""
        detail = as_object(update.get("task_snapshot")) or update
        parts = (as_text(detail.get("command")), as_text(detail.get("output")))
        event = self.add("system", "harness", "\n".join(filter(None, parts)), self._line.kind)
        event.call_id = as_text(detail.get("task_id")) or None
        code = detail.get("exit_code")
        event.exit_code = code if type(code) is int else None
        event.is_error = event.exit_code not in (None, 0)

    def note(self, update: Record) -> None:
        """A short message: another model, a recap, output of a watched process."""
        if model := as_text(update.get("model_id")) or as_text(update.get("new_model_id")):
            self._model = model
            self.part.note("model", model, self._line.pos)
        texts = (update.get(k) for k in ("summary", "event_text", "reason", "model_id"))
        text = next((text for text in texts if isinstance(text, str) and text), "")
        self.add("system", "harness", text or self._line.kind, self._line.kind)


def _common(left: str, right: str) -> int:
    """Length of the beginning two texts share."""
    low, high = 0, min(len(left), len(right))
    while low < high:
        middle = (low + high + 1) // 2
        if left[:middle] == right[:middle]:
            low = middle
        else:
            high = middle - 1
    return low


_HANDLERS: dict[str, Callable[[EventBuilder, Record], None]] = {
    "agent_message_chunk": EventBuilder.assistant,
    "agent_thought_chunk": EventBuilder.thought,
    "auto_compact_cancelled": EventBuilder.note,
    "auto_compact_completed": EventBuilder.compacted,
    "auto_compact_failed": EventBuilder.failure,
    "auto_recovery_exhausted": EventBuilder.failure,
    "auto_recovery_started": EventBuilder.failure,
    "compaction_checkpoint": EventBuilder.checkpoint,
    "hook_execution": EventBuilder.hooks,
    "image_dropped": EventBuilder.note,
    "model_auto_switched": EventBuilder.note,
    "model_changed": EventBuilder.note,
    "monitor_event": EventBuilder.note,
    "plan": EventBuilder.plan,
    "retry_state": EventBuilder.failure,
    "rewind_marker": EventBuilder.rewind,
    "session_recap": EventBuilder.note,
    "subagent_finished": EventBuilder.finished,
    "subagent_spawned": EventBuilder.spawned,
    "task_backgrounded": EventBuilder.task,
    "task_completed": EventBuilder.task,
    "tool_call": EventBuilder.tool,
    "tool_call_update": EventBuilder.tool,
    "turn_completed": EventBuilder.turn_completed,
    "user_message_chunk": EventBuilder.user,
}
