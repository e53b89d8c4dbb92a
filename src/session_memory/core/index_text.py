"""What of an event goes into the full-text indexes.

Indexing is the largest cost of a sweep, so only what recall needs is indexed: prompts, answers,
commands, errors, paths, what edits write, and the two ends of outputs.
"""

from __future__ import annotations

from session_memory.core.schema import EventKind, ToolClass
from session_memory.core.text.searchable import searchable

TEXT_CAP = 20_000
EDIT_CAP = 8_000
"""Of a longer edit its beginning: names that matter stand there or in the next edit."""
ERROR_HEAD, ERROR_TAIL = 1_500, 500
OUTPUT_HEAD, OUTPUT_TAIL = 300, 200
WINDOW_OWN, WINDOW_BEFORE = 2_000, 500
BEFORE = 2
"""How many turns before a turn stand in its window."""

_TURN_KINDS = frozenset({"user_prompt", "assistant_text"})
_SUMMARY_LABELS = frozenset({"compact_summary", "queued_prompt"})


def index_text(
    kind: EventKind,
    text: str,
    *,
    is_error: bool = False,
    tool: str | None = None,
    tool_class: ToolClass | None = None,
    command: str | None = None,
    files: tuple[str, ...] = (),
    label: str | None = None,
) -> str | None:
    """The words under which an event is found, or None."""
    if kind in _TURN_KINDS or kind == "error" or (kind == "injected" and label in _SUMMARY_LABELS):
        return searchable(text[:TEXT_CAP])
    if kind == "tool_call":
        if command:
            return searchable(command[:TEXT_CAP])
        if tool_class == "edit":
            return searchable(" ".join((tool or "", *files, _plain(text[:EDIT_CAP]))))
        if tool_class == "read":
            return searchable(" ".join((tool or "", *files)))
        return searchable(f"{tool or ''} {text[:OUTPUT_HEAD]}")
    if kind == "tool_result":
        head, tail = (ERROR_HEAD, ERROR_TAIL) if is_error else (OUTPUT_HEAD, OUTPUT_TAIL)
        if len(text) > head + tail:
            text = f"{text[:head]}\n{text[-tail:]}"
        return searchable(text)
    return None


def _plain(arguments: str) -> str:
    """The arguments of a call, which are JSON, without escapes that would stick to words."""
    return arguments.replace("\\n", " ").replace("\\t", " ")


def is_turn(kind: EventKind) -> bool:
    """Whether an event is one side of the dialogue."""
    return kind in _TURN_KINDS


def window_text(text: str, before: list[str]) -> str:
    """A turn with its predecessors, each cut to the part that shows its topic."""
    return "\n".join((*(turn[:WINDOW_BEFORE] for turn in before), text[:WINDOW_OWN]))
