"""Cline's tasks, and those of agents that keep its format: finds them and reads them.

It reads `ui_messages.json`, the fuller of a task's two records: it holds times, prompts and cost.
`api_conversation_history.json` repeats the same conversation without them.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

from session_memory.adapters.agent import Agent
from session_memory.adapters.cline import AGENT
from session_memory.adapters.cline.entries import TaskEmitter
from session_memory.adapters.common import (
    Adapter,
    Normalized,
    SourceFile,
    as_object,
    as_text,
    walk_files,
)
from session_memory.adapters.excerpt import compact_json
from session_memory.adapters.gather import PartBuilder
from session_memory.adapters.whole_log import (
    Line,
    Record,
    Records,
    array_lines,
    document_lines,
    made_lines_adapter,
    side_object,
    with_sides,
)

LOG = "ui_messages.json"
HISTORY = "history_item.json"
"""Roo's record of a task: its workspace and the task that started it."""
_SKIP = frozenset({"checkpoints", "settings", "cache", "sessions"})


def discover(root: str) -> Iterator[SourceFile]:
    """Every task below a folder."""
    tasks = os.path.join(root, "tasks")
    for file in walk_files(tasks if os.path.isdir(tasks) else root, LOG, skip_dirs=_SKIP):
        if file.size < 0 or os.path.basename(file.path) == LOG:
            yield with_sides(file, [os.path.join(os.path.dirname(file.path), HISTORY)])


def lines(file: SourceFile, data: bytes) -> Iterator[Line]:
    """What is known of the task, then its entries."""
    folder = os.path.dirname(file.path)
    task = {
        "task": os.path.basename(folder),
        "history": side_object(os.path.join(folder, HISTORY)),
    }
    yield compact_json(task).encode()
    yield from array_lines(data, "entry", is_entry)


def is_entry(record: Record) -> bool:
    """Whether an object is an entry of a task, and not one nested in it."""
    return "ts" in record and as_text(record.get("type")) in ("say", "ask")


def emit(_source: SourceFile, records: Records, bundle: Normalized) -> None:
    """Read a whole task."""
    if not records:
        return
    task, *entries = [record for _, record in records]
    history = as_object(task.get("history"))
    parent = as_text(history.get("parentTaskId")) or None
    part = PartBuilder(as_text(task.get("task")), parent)
    part.begin(cwd=as_text(history.get("workspace")))
    emitter = TaskEmitter(part, bundle)
    emitter.emit([as_object(entry.get("entry")) for entry in entries])
    emitter.finish()


def task_adapter(agent: Agent) -> Adapter:
    """The reader of an agent that keeps tasks in this format."""
    return made_lines_adapter(
        agent, discover=discover, lines=document_lines(lines), emit=emit, headings=1
    )


ADAPTER = task_adapter(AGENT)
