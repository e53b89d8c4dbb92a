"""Memories made by a model: as an agent in the staging folder, or as files in its answer."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from session_memory.core.text.safe_text import fence
from session_memory.errors import ModelFailed
from session_memory.memory.input_parts import choose, fenced, split
from session_memory.memory.layout import MEMORY, SUMMARY, TRACES
from session_memory.memory.outputs import Files, check_inputs, read_inputs, read_outputs
from session_memory.memory.prompt import Engine, Warn, read_prompt, render, substitute
from session_memory.memory.swap import SoFar
from session_memory.model.cut import cut
from session_memory.model.parse import parse_answer
from session_memory.model.port import Answer, InputRoom, Model, Request

Ask = Callable[[Request], Answer]
LABEL = "memory_consolidation"
"""The purpose of the call in the ledger."""
MAX_FILES_BYTES = 400_000
FILES_CUT = "\n\n[... TRACES TRUNCATED FOR CONSOLIDATION ...]\n\n"
AGENT_SECONDS = 900.0
AGENT_TURNS = 16
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "files": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"path": {"type": "string"}, "content": {"type": "string"}},
                "required": ["path", "content"],
                "additionalProperties": False,
            },
        }
    },
    "required": ["files"],
    "additionalProperties": False,
}


class _File(msgspec.Struct, frozen=True):
    path: str
    content: str


class Task(msgspec.Struct, frozen=True):
    """What one consolidation asks a model: about which folder, and what is known from before."""

    staging: Path
    room: InputRoom = InputRoom(MAX_FILES_BYTES, MAX_FILES_BYTES)
    so_far: SoFar = SoFar()


def input_room(model: Model, folders: Sequence[Path]) -> InputRoom:
    """How many bytes of traces a model may be shown for each of these staging folders.

    An agent that works in the folder reads what it likes, so only its number of turns is limited.
    """
    if model.works_in_folders or not folders:
        return InputRoom(MAX_FILES_BYTES, MAX_FILES_BYTES)
    bare = files_request(Task(folders[0]), {}, _ignore)
    return model.input_room(bare, [_input_size(folder) for folder in folders])


def _ignore(_text: str) -> None:
    """A warning about a request that is only measured, not sent."""


def _input_size(staging: Path) -> int:
    paths = [staging / SUMMARY, *(staging / TRACES).glob("*.md")]
    return min(MAX_FILES_BYTES, sum(path.stat().st_size for path in paths if path.is_file()))


def ask_for_memory(ask: Ask, task: Task, warn: Warn, *, works_in_folders: bool) -> Files:
    """The files a model makes of the traces in a staging folder."""
    inputs = read_inputs(task.staging)
    if not works_in_folders:
        chosen, left_out = choose(inputs, min(task.room.total, MAX_FILES_BYTES))
        if left_out:
            warn(f"{left_out} of {len(inputs) - 1} traces were left out: the budget has no room")
        return _ask_in_parts(ask, task, chosen, warn)
    ask(agent_request(task, warn))
    check_inputs(inputs, read_inputs(task.staging))
    return read_outputs(task.staging)


def _ask_in_parts(ask: Ask, task: Task, inputs: Files, warn: Warn) -> Files:
    """One call if everything fits, otherwise one for each part and one that joins the answers."""
    parts = split(inputs, task.room.call)
    if len(parts) == 1:
        return _files_in(ask(files_request(task, parts[0], warn)))
    # Only the last call is shown the earlier memory.
    alone = msgspec.structs.replace(task, so_far=SoFar())
    answers = [_files_in(ask(files_request(alone, part, warn))) for part in parts]
    joined = {SUMMARY: inputs[SUMMARY]} if SUMMARY in inputs else {}
    joined |= {
        f"parts/{number}/{name}": text
        for number, answer in enumerate(answers, 1)
        for name, text in answer.items()
    }
    if len(split(joined, task.room.call)) < len(parts):
        return _ask_in_parts(ask, task, joined, warn)
    return _files_in(ask(files_request(task, joined, warn)))  # it does not get shorter: cut


def agent_request(task: Task, warn: Warn, engine: Engine = substitute) -> Request:
    """The request to an agent that works in the folder."""
    values = {"memory_root": str(task.staging)}
    return Request(
        purpose=LABEL,
        system=render(read_prompt("consolidate.md"), values, warn, engine),
        user=render(read_prompt("consolidate_agent.md"), values, warn, engine)
        + _so_far(task, warn, engine),
        max_output_tokens=4_000,
        timeout_s=AGENT_SECONDS,
        folder=str(task.staging),
        max_turns=AGENT_TURNS,
    )


def files_request(
    task: Task, inputs: Mapping[str, str], warn: Warn, engine: Engine = substitute
) -> Request:
    """The request to a model without tools: the summary first, then the traces."""
    shown = fenced(inputs)
    bounded = cut(shown, task.room.call, FILES_CUT)
    if bounded.truncated:
        size, whole = (len(text.encode("utf-8", "surrogatepass")) for text in (bounded.text, shown))
        warn(f"the traces were cut to {size} of {whole} bytes; {whole - size} were left out")
    root = {"memory_root": str(task.staging)}
    return Request(
        purpose=LABEL,
        system=render(read_prompt("consolidate.md"), root, warn, engine),
        user=render(
            read_prompt("consolidate_files.md"), {**root, "files": bounded.text}, warn, engine
        )
        + _so_far(task, warn, engine),
        schema=SCHEMA,
        schema_name="memory_files",
        max_output_tokens=16_000,
        timeout_s=AGENT_SECONDS,
    )


def _so_far(task: Task, warn: Warn, engine: Engine) -> str:
    """What the last consolidation made, and which traces are new; "" if there was none."""
    if not task.so_far.text:
        return ""
    values = {
        "changed": ", ".join(task.so_far.changed) or "none",
        "memory": fence(task.so_far.text, secrets.token_hex(8), MEMORY),
    }
    return "\n\n" + render(read_prompt("consolidate_so_far.md"), values, warn, engine)


def _files_in(answer: Answer) -> Files:
    payload = parse_answer(answer.text, SCHEMA)
    try:
        files = msgspec.convert(payload["files"], list[_File])
    except msgspec.ValidationError as error:
        raise ModelFailed(f"the answer has no list of files: {error}") from None
    return {file.path: file.content for file in files}
