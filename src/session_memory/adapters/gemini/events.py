"""Turns the messages of a Gemini CLI chat into events, in the order they were first written."""

from __future__ import annotations

from collections import Counter

from session_memory.adapters.common import (
    Json,
    RawEvent,
    as_list,
    as_object,
    as_text,
    parse_time,
    rewound,
)
from session_memory.adapters.excerpt import EXCERPT, Piece, compact_json
from session_memory.adapters.gather import PartBuilder
from session_memory.adapters.gemini.fold import Fold, Message, Record, Rewind
from session_memory.adapters.gemini.text import (
    media_of,
    parts_of,
    response_text,
    text_of,
    unwrapped,
    user_pieces,
)
from session_memory.adapters.gemini.tools import fill_call, fill_result, has_ended
from session_memory.adapters.gemini.usage import usage_of
from session_memory.core.schema import EventKind, Origin

PLACES = 1 << 20
"""Room for the events of one message between its position and the next one's."""

_LIVE = frozenset(
    ("assistant_text", "compaction", "injected", "reasoning", "tool_call", "tool_result")
) | {"user_prompt"}
"""What a rewind takes back; money spent and errors met stay what they were."""

_COMPRESSED = ("Chat history compressed", "IMPORTANT: This conversation")
_CANCELLED = ("Request cancelled", "User cancelled", "Agent execution stopped: Cancelled")
_SAID_BY_CLIENT = {"info": "info", "warning": "warning", "error": "error"}


class EventBuilder:
    """Fills a session's part from its messages."""

    def __init__(self, part: PartBuilder, fold: Fold, outputs: dict[str, str]) -> None:
        self.part = part
        self.ignored: Counter[str] = Counter()
        self.unknown: Counter[str] = Counter()
        self.children: dict[str, str] = {}
        """Sub-agent session to the kind of agent it is."""
        self._fold = fold
        self._outputs = outputs
        self._by_agent = part.parent is not None or fold.meta.get("kind") == "subagent"
        self._agent: Origin = "subagent" if self._by_agent else "agent"
        calls = [(m, key, row) for m in fold.messages.values() for key, row in m.calls.items()]
        self._answered = {key for _, key, row in calls if has_ended(as_text(row.get("status")))}
        """Calls whose result stands with the call: messages that repeat it add nothing."""
        self._names = {key: as_text(row.get("name")) for _, key, row in calls}
        self._pos = 0
        self._now: Message | None = None

    def build(self) -> None:
        """Every message, rewind and unknown record of the file, by rank."""
        steps: list[tuple[int, Message | Rewind | Record]] = [
            (message.rank, message) for message in self._fold.messages.values() if message.rank >= 0
        ]
        steps += [(rewind.rank, rewind) for rewind in self._fold.rewinds]
        steps += self._fold.odd
        for rank, step in sorted(steps, key=lambda pair: pair[0]):
            self._pos, self._now = rank * PLACES, None
            if isinstance(step, Message):
                self._message(step)
            elif isinstance(step, Rewind):
                self._add("system", "harness", f"rewound to before {step.target}", "rewind")
                self.part.events[-1].at = step.at
            else:
                self._add("other", "harness", compact_json(step, EXCERPT), "record")

    def _add(
        self, kind: EventKind, origin: Origin, text: str, label: str | None = None
    ) -> RawEvent:
        message = self._now
        event = RawEvent(self._pos, kind, origin, text, message.at if message else None)
        event.label = label
        event.identity = f"{message.id if message else ''}:{self._pos}"
        self._pos += 1
        self.part.events.append(event)
        return event

    def _message(self, message: Message) -> None:
        self._now = message
        first = len(self.part.events)
        if message.kind == "user":
            self._user(message)
        elif message.kind in ("gemini", "qwen"):
            self._model(message)
        elif message.kind in _SAID_BY_CLIENT:
            self._client(message)
        else:
            self._opaque(f"message/{message.kind}", message.kind, message.content)
        if message.rewound:
            events = self.part.events
            events[first:] = [rewound(e) if e.kind in _LIVE else e for e in events[first:]]
        self._note(message, first)

    def _opaque(self, what: str, label: str, value: Json) -> None:
        """Keep what no parser knows: an excerpt to look at, and a count under its name."""
        self._add("other", "harness", compact_json(value, EXCERPT), label)
        self.unknown[what] += 1

    def _note(self, message: Message, first: int) -> None:
        pos = message.rank * PLACES
        if message.model:
            self.part.note("model", message.model, pos)
        for at in (event.at for event in self.part.events[first:]):
            if at is not None:
                self.part.note_time(at, pos)

    # --- what stands under the role of the user ---

    def _user(self, message: Message) -> None:
        if message.is_summary:
            self._add("compaction", "harness", "context compressed", "compress")
        typed = text_of(message.display)
        if typed:
            self._pieces(typed)
        for part in map(as_object, parts_of(message.content)):
            if "functionResponse" in part:
                self._response(as_object(part["functionResponse"]))
            elif (media := media_of(part)) is not None:
                self._add("other", "user", media, "media")
            elif isinstance(part.get("text"), str):
                self._user_text(part["text"], typed, message)
            else:
                self._opaque(f"part/{next(iter(part), 'empty')}", "part", part)

    def _user_text(self, text: str, typed: str, message: Message) -> None:
        if text == typed or not text.strip():
            self.ignored["empty_text" if not text.strip() else "display_copy"] += 1
        elif message.is_summary:
            self._add("injected", "harness", text, "compact_summary")
        elif typed:  # what the client made of it: files it names, a command's own prompt
            self._add("injected", "harness", text, "expanded_prompt")
        else:
            self._pieces(text)

    def _pieces(self, text: str) -> None:
        for piece in user_pieces(text, by_agent=self._by_agent):
            self._piece(piece)

    def _piece(self, piece: Piece) -> None:
        if piece.label == "compact_summary":
            self._add("compaction", "harness", "context compressed", "compress")
        self._add(piece.kind, piece.origin, piece.text, piece.label)

    def _response(self, response: Record) -> None:
        """A result on its own; it becomes an event only where its call does not hold it."""
        call_id = as_text(response.get("id"))
        if call_id in self._answered:
            self.ignored["result_copy"] += 1
            return
        self._answered.add(call_id)
        name = self._names.get(call_id) or as_text(response.get("name"))
        answer = as_object(response.get("response"))
        event = self._add("tool_result", "tool", response_text(answer))
        event.call_id = call_id or None
        fill_result(event, name, "error" if "error" in answer else "success", None)
        self._overflow(event)

    # --- what the model said and did ---

    def _model(self, message: Message) -> None:
        key = None
        if message.tokens is not None:
            key = f"{self.part.external_id}:{message.id}#{message.number}"
            self.part.spend(
                usage_of(key, message.model, message.at, message.tokens, sidechain=self._by_agent)
            )
        first = len(self.part.events)
        for thought in map(as_object, message.thoughts):
            self._thought(thought)
        for part in map(as_object, parts_of(message.content)):
            self._model_part(part, message)
        for call_id, row in message.calls.items():
            self._call(call_id, row)
        for call_id, row in message.calls.items():
            self._result(call_id, row)
        for event in self.part.events[first:]:
            event.usage_key = key

    def _thought(self, thought: Record) -> None:
        said = (as_text(thought.get("subject")), as_text(thought.get("description")))
        if text := "\n".join(filter(None, said)):
            event = self._add("reasoning", self._agent, text)
            event.at = parse_time(thought.get("timestamp")) or event.at

    def _model_part(self, part: Record, message: Message) -> None:
        text = part.get("text")
        if "functionCall" in part:
            call = as_object(part["functionCall"])
            if as_text(call.get("id")) not in message.calls:
                self._call(as_text(call.get("id")), call)
        elif (media := media_of(part)) is not None:
            self._add("other", self._agent, media, "media")
        elif isinstance(text, str):
            if text.strip():
                kind: EventKind = "reasoning" if part.get("thought") else "assistant_text"
                self._add(kind, self._agent, text)
        elif "thoughtSignature" in part:
            self.ignored["thinking_signature"] += 1
        else:
            self._opaque(f"part/{next(iter(part), 'empty')}", "part", part)

    def _call(self, call_id: str, row: Record) -> None:
        event = self._add("tool_call", self._agent, "")
        fill_call(event, as_text(row.get("name")), row.get("args"), call_id)
        child = as_text(row.get("agentId"))
        if child:
            event.tool_class = "agent"
            display = as_object(row.get("resultDisplay"))
            self.children[child] = as_text(display.get("agentName"))

    def _result(self, call_id: str, row: Record) -> None:
        status = as_text(row.get("status"))
        if not has_ended(status):
            return
        answers = [
            as_object(as_object(p).get("functionResponse")) for p in as_list(row.get("result"))
        ]
        # A synchronised record holds the answers to all calls of its turn.
        own = [answer for answer in answers if as_text(answer.get("id")) == call_id] or answers[:1]
        display = row.get("resultDisplay")
        text = "\n".join(response_text(answer.get("response")) for answer in own)
        if not own and isinstance(display, str):
            text = display
        event = self._add("tool_result", "tool", text)
        event.call_id = call_id or None
        event.at = parse_time(row.get("timestamp")) or event.at
        fill_result(event, as_text(row.get("name")), status, display)
        self._overflow(event)

    def _overflow(self, event: RawEvent) -> None:
        """What was cut out of a large output, as an event of its own: the file may go any day."""
        head = event.text[:1000]
        name = next((name for name in self._outputs if name in head), None)
        if name is None:
            return
        whole = unwrapped(self._outputs[name])
        if rest := cut_out(whole, event.text[head.find(name) + len(name) :].lstrip("\n")):
            more = self._add("other", "tool", rest, "overflow")
            more.call_id, more.at = event.call_id, event.at

    # --- the client about itself ---

    def _client(self, message: Message) -> None:
        text = text_of(message.content)
        if not text:
            self.ignored["empty_text"] += 1
        elif message.kind == "error":
            self._add("error", "harness", text, "error").is_error = True
        elif text.startswith(_COMPRESSED):
            self._add("compaction", "harness", text, "compress")
        elif text.startswith(_CANCELLED):
            self._add("system", "user", text, "interrupted")
        else:
            self._add("system", "harness", text, message.kind)


def cut_out(whole: str, shown: str) -> str:
    """The part of an output between the beginning and the end that are shown of it."""
    start = _common(whole, shown)
    back = _common(whole[start:][::-1], shown[::-1])
    return whole[start : len(whole) - back]


def _common(left: str, right: str) -> int:
    """How many signs two texts begin with alike."""
    pairs = zip(left, right, strict=False)
    return next((n for n, (a, b) in enumerate(pairs) if a != b), min(len(left), len(right)))
