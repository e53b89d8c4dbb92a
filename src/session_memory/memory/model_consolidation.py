"""How a model makes a memory: as an agent in the staging folder, or by words alone."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from session_memory.core.text.safe_text import fence
from session_memory.errors import ModelFailed
from session_memory.memory.layout import SUMMARY, TRACES
from session_memory.memory.outputs import Files, check_phase_one, phase_one, read_made
from session_memory.memory.prompt import Engine, Warn, read_prompt, render, substitute
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


def input_limit(model: Model, folders: Sequence[Path]) -> int:
    """How many bytes of traces a model may be shown for each of these staging folders.

    An agent that works in the folder reads what it likes, so that only its turns are bounded.
    """
    if model.works_in_folders or not folders:
        return MAX_FILES_BYTES
    bare = words_request(folders[0], {}, _unheard)
    return min(MAX_FILES_BYTES, model.input_limit(bare, [_size(one) for one in folders]))


def _unheard(_text: str) -> None:
    """A warning about a prompt that nobody is sent."""


def _size(staging: Path) -> int:
    paths = [staging / SUMMARY, *(staging / TRACES).glob("*.md")]
    return min(MAX_FILES_BYTES, sum(path.stat().st_size for path in paths if path.is_file()))


def make(model: Model, staging: Path, warn: Warn, limit: int = MAX_FILES_BYTES) -> Files:
    """What a model made of the traces in a staging folder; `limit` as `input_limit` gives it."""
    if not model.works_in_folders:
        return _by_words(model, staging, warn, limit)
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


def _by_words(model: Model, staging: Path, warn: Warn, limit: int) -> Files:
    answer = model.ask(words_request(staging, phase_one(staging), warn, limit=limit))
    found = parse_answer(answer.text, SCHEMA)
    try:
        files = msgspec.convert(found["files"], list[_File])
    except msgspec.ValidationError as error:
        raise ModelFailed(f"the answer has no list of files: {error}") from None
    return {file.path: file.content for file in files}


def words_request(
    staging: Path,
    files: Mapping[str, str],
    warn: Warn,
    engine: Engine = substitute,
    limit: int = MAX_FILES_BYTES,
) -> Request:
    """The request to a model that only answers: the summary first, then the traces."""
    order = sorted(files, key=lambda name: (name != SUMMARY, name))
    mark = secrets.token_hex(8)  # nothing in a trace can end its fence
    shown = "\n\n".join(fence(files[name], mark, name) for name in order)
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
