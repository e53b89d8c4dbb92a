"""Writes the events of one session: the few kinds that every agent's log comes down to."""

from __future__ import annotations

import re

from session_memory.adapters.common import (
    Json,
    Normalized,
    RawEvent,
    as_object,
    as_text,
    classify_tool,
    decode_record,
)
from session_memory.adapters.excerpt import EXCERPT, compact_json
from session_memory.adapters.gather import PartBuilder
from session_memory.core.schema import EventKind, Origin, ToolClass, Usage

_COMMANDS = ("command", "cmd", "commandLine", "CommandLine", "script")
_PATHS = (
    *("file_path", "filePath", "filepath", "path", "target_file", "relative_workspace_path"),
    *("absolutePath", "AbsolutePath", "TargetFile"),
)
_EXIT_CODE = re.compile(
    r"(?:\bexit(?:ed with)?(?: status)? code:? |\bexited with status )(-?\d{1,10})\b", re.I
)
_FAILED = re.compile(r"\s*(?:ERROR while calling tool|Error(?: executing| calling|:)|ERROR:)")
_QUOTING_CLASSES = frozenset({"read", "search", "edit", "web", "plan"})
_TAIL = 400
"""Characters at the end of a result in which agents state how a command ended."""


def stated_exit_code(text: str) -> int | None:
    """The exit code a result states in words, at its beginning or its end.

    Some agents never flag a failed command. What a command prints in between is its own.
    """
    for piece in (text[-_TAIL:], text[:_TAIL]):
        codes = _EXIT_CODE.findall(piece)
        if codes:
            return int(codes[-1])
    return None


def is_stated_failure(text: str) -> bool:
    """Whether a result begins with the words of a tool that failed."""
    return _FAILED.match(text) is not None


class EventEmitter:
    """Adds events of one session to its part, in order.

    `at` is the time of the current record, None where the format has none: then an event is
    identified by its number in the session.
    """

    def __init__(self, part: PartBuilder, bundle: Normalized, version: str = "") -> None:
        self.part = part
        self.bundle = bundle
        self.version = version
        self.at: int | None = None
        self._agent: Origin = "subagent" if part.parent else "agent"
        self._pos = 0
        self._usage_key: str | None = None
        self._classes: dict[str, ToolClass] = {}
        """The class of each call, by its id."""

    def add(self, kind: EventKind, origin: Origin, text: str, label: str | None = None) -> RawEvent:
        """One event at the time of the current record."""
        number = len(self.part.events)
        event = RawEvent(self._pos, kind, origin, text, self.at, label=label)
        event.identity = f"{self.part.external_id}:{number}"
        self._pos += 1
        self.part.events.append(event)
        if self.at is not None:
            self.part.note_time(self.at, event.pos)
        if self._usage_key and origin == self._agent:
            event.usage_key, self._usage_key = self._usage_key, None
        return event

    def ignore(self, what: str) -> None:
        """Count a record that is known and holds nothing to keep."""
        self.bundle.ignored[what] += 1

    def prompt(self, text: str) -> None:
        """What a person typed; in a sub-agent's log, what its parent's model wrote."""
        if not text.strip():
            self.ignore("prompt/empty")
        elif self.part.parent:
            self.add("injected", "agent", text, "subagent_prompt")
        else:
            self.add("user_prompt", "user", text)

    def inject(self, text: str, label: str) -> None:
        """What the client put in front of the model."""
        if text.strip():
            self.add("injected", "harness", text, label)

    def say(self, text: str) -> None:
        """An answer of the model."""
        if text.strip():
            self.add("assistant_text", self._agent, text)
        else:
            self.ignore("text/empty")

    def think(self, text: str) -> None:
        """What the model thought, where it is not sealed."""
        if text.strip():
            self.add("reasoning", self._agent, text)
        else:
            self.ignore("reasoning/empty")

    def call(
        self, name: str, given: Json, call_id: str, tool_class: ToolClass | None = None
    ) -> RawEvent:
        """A tool call; `given` is its input, an object or JSON as text."""
        if isinstance(given, str):
            given = decode_record(given.encode("utf-8", "replace")) or given
        text = given if isinstance(given, str) else compact_json(given)
        event = self.add("tool_call", self._agent, text)
        event.tool, event.call_id = name or None, call_id or None
        event.tool_class = tool_class or classify_tool(name)
        if call_id:
            self._classes[call_id] = event.tool_class
        named = as_object(given)
        if event.tool_class == "shell":
            event.command = next((v for k in _COMMANDS if (v := as_text(named.get(k)))), None)
        elif event.tool_class in ("read", "edit"):
            paths = (as_text(named.get(key)) for key in _PATHS)
            event.files = tuple(dict.fromkeys(path for path in paths if path))
        return event

    def result(self, text: str, call_id: str, *, failed: bool = False) -> RawEvent:
        """A tool's result; what it states in words about its failure counts as well.

        The words of a file or page that was read do not count: they are about something else.
        """
        event = self.add("tool_result", "tool", text)
        event.call_id = call_id or None
        settle_result(event, failed=failed)
        if event.exit_code is not None and self._classes.get(call_id) in _QUOTING_CLASSES:
            event.exit_code, event.is_error = None, failed or is_stated_failure(text)
        return event

    def fail(self, text: str, label: str) -> None:
        """An error of the client or of the model's vendor."""
        self.add("error", "harness", text or label, label).is_error = True

    def interrupt(self, text: str) -> None:
        """The user stopped the agent."""
        self.add("system", "harness", text, "interrupted")

    def compact(self, text: str) -> None:
        """The context was condensed."""
        self.add("compaction", "harness", text or "compaction", "compaction")

    def unknown(self, what: str, record: Json) -> None:
        """Keep a record of unknown type, and count it: a new format is seen on its first day."""
        self.bundle.unknown[self.version, what] += 1
        self.add("other", "harness", compact_json(record, EXCERPT), what)

    def spend(self, usage: Usage) -> None:
        """What a response cost; the next event of the agent is part of that response."""
        self.part.spend(usage)
        self._usage_key = usage.key

    def finish(self, file_time: int | None = None) -> None:
        """Give the session to the bundle, unless nothing was said in it.

        Where no record has a time, the session gets `file_time`, in milliseconds, marked as such.
        """
        if not self.part.events:
            return
        if file_time is not None and all(event.at is None for event in self.part.events):
            self.part.note_time(file_time, 0)
            self.part.note("time_source", "file", 0)
        self.bundle.sessions.append(self.part.build())


def settle_result(event: RawEvent, *, failed: bool) -> None:
    """Set exit code and failure from what the record flags and what its text states."""
    event.exit_code = stated_exit_code(event.text)
    event.is_error = failed or event.exit_code not in (None, 0) or is_stated_failure(event.text)
