"""Memories made by a model: as an agent in the staging folder, or as files in its answer."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from session_memory.core.text.safe_text import fence
from session_memory.errors import ModelFailed
from session_memory.memory.layout import SUMMARY, TRACES
from session_memory.memory.outputs import Files, check_inputs, read_inputs, read_outputs
from session_memory.memory.prompt import Engine, Warn, read_prompt, render, substitute
from session_memory.model.cut import cut
from session_memory.model.parse import parse_answer
from session_memory.model.port import Model, Request

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


def input_limit(model: Model, folders: Sequence[Path]) -> int:
    """How many bytes of traces a model may be shown for each of these staging folders.

    An agent that works in the folder reads what it likes, so only its number of turns is limited.
    """
    if model.works_in_folders or not folders:
        return MAX_FILES_BYTES
    bare = files_request(folders[0], {}, _ignore)
    sizes = [_input_size(folder) for folder in folders]
    return min(MAX_FILES_BYTES, model.input_limit(bare, sizes))


def _ignore(_text: str) -> None:
    """A warning about a request that is only measured, not sent."""


def _input_size(staging: Path) -> int:
    paths = [staging / SUMMARY, *(staging / TRACES).glob("*.md")]
    return min(MAX_FILES_BYTES, sum(path.stat().st_size for path in paths if path.is_file()))


def ask_for_memory(model: Model, staging: Path, warn: Warn, limit: int) -> Files:
    """The files a model makes of the traces in a staging folder; for `limit` see `input_limit`."""
    inputs = read_inputs(staging)
    if not model.works_in_folders:
        return _ask_for_files(model, files_request(staging, inputs, warn, limit=limit))
    model.ask(agent_request(staging, warn))
    check_inputs(inputs, read_inputs(staging))
    return read_outputs(staging)


def agent_request(staging: Path, warn: Warn, engine: Engine = substitute) -> Request:
    """The request to an agent that works in the folder."""
    values = {"memory_root": str(staging)}
    return Request(
        purpose=LABEL,
        system=render(read_prompt("consolidate.md"), values, warn, engine),
        user=render(read_prompt("consolidate_agent.md"), values, warn, engine),
        max_output_tokens=4_000,
        timeout_s=AGENT_SECONDS,
        folder=str(staging),
        max_turns=AGENT_TURNS,
    )


def _ask_for_files(model: Model, request: Request) -> Files:
    payload = parse_answer(model.ask(request).text, SCHEMA)
    try:
        files = msgspec.convert(payload["files"], list[_File])
    except msgspec.ValidationError as error:
        raise ModelFailed(f"the answer has no list of files: {error}") from None
    return {file.path: file.content for file in files}


def files_request(
    staging: Path,
    inputs: Mapping[str, str],
    warn: Warn,
    engine: Engine = substitute,
    limit: int = MAX_FILES_BYTES,
) -> Request:
    """The request to a model without tools: the summary first, then the traces."""
    order = sorted(inputs, key=lambda name: (name != SUMMARY, name))
    mark = secrets.token_hex(8)  # nothing in a trace can end its fence
    shown = "\n\n".join(fence(inputs[name], mark, name) for name in order)
    bounded = cut(shown, limit, FILES_CUT)
    if bounded.truncated:
        size, whole = (len(text.encode("utf-8", "surrogatepass")) for text in (bounded.text, shown))
        warn(f"the traces were cut to {size} of {whole} bytes; {whole - size} were left out")
    root = {"memory_root": str(staging)}
    return Request(
        purpose=LABEL,
        system=render(read_prompt("consolidate.md"), root, warn, engine),
        user=render(
            read_prompt("consolidate_files.md"), {**root, "files": bounded.text}, warn, engine
        ),
        schema=SCHEMA,
        schema_name="memory_files",
        max_output_tokens=16_000,
        timeout_s=AGENT_SECONDS,
    )
