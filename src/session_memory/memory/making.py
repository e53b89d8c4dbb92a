"""How a model makes a memory: as an agent in the staging folder, or by words alone."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from session_memory.core.safe_text import fence
from session_memory.errors import ModelFailed
from session_memory.memory.layout import SUMMARY
from session_memory.memory.made import Files, check_phase_one, phase_one, read_made
from session_memory.memory.prompting import Engine, Warn, read_prompt, render, substitute
from session_memory.model.cut import cut
from session_memory.model.parse import parse_answer
from session_memory.model.port import Model, Request

LABEL = "memory_consolidation"
"""What the run is called, in the ledger and by providers."""
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


def make(model: Model, staging: Path, warn: Warn) -> Files:
    """What a model made of the traces in a staging folder."""
    if not model.works_in_folders:
        return _by_words(model, staging, warn)
    before = phase_one(staging)
    model.ask(agent_request(staging, warn))
    check_phase_one(before, phase_one(staging))
    return read_made(staging)


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


def _by_words(model: Model, staging: Path, warn: Warn) -> Files:
    answer = model.ask(words_request(staging, phase_one(staging), warn))
    found = parse_answer(answer.text, SCHEMA)
    try:
        files = msgspec.convert(found["files"], list[_File])
    except msgspec.ValidationError as error:
        raise ModelFailed(f"the answer has no list of files: {error}") from None
    return {file.path: file.content for file in files}


def words_request(
    staging: Path, files: Mapping[str, str], warn: Warn, engine: Engine = substitute
) -> Request:
    """The request to a model that only answers: the summary first, then the traces."""
    order = sorted(files, key=lambda name: (name != SUMMARY, name))
    mark = secrets.token_hex(8)  # nothing in a trace can end its fence
    shown = "\n\n".join(fence(files[name], mark, name) for name in order)
    bounded = cut(shown, MAX_FILES_BYTES, FILES_CUT)
    if bounded.truncated:
        warn(f"the traces were cut to {MAX_FILES_BYTES} bytes")
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
