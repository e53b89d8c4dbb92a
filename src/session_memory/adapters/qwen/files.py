"""Qwen Code's session logs on disk: finds them and reads one with its side files."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator

from session_memory.adapters.common import Block, SourceFile, read_lines, walk_files
from session_memory.adapters.gemini import files as gemini_files
from session_memory.adapters.gemini.files import OUTPUT, SIDE_CAP, plain_bytes
from session_memory.adapters.packed import unpacked_name

META = "meta"
"""Key in `Block.side_files` of what the client notes about a sub-agent next to its log."""

_OUTPUT_NAME = re.compile(rb"tool-results[/\\]+([\w.-]{1,200}\.txt)")
_ROOTS = ("projects", "tmp")
_PLACES = frozenset({"chats", "subagents"})


def discover(root: str) -> Iterator[SourceFile]:
    """Every log of a Qwen home, of the folder above it, or of any folder the user names.

    Older builds wrote below `tmp`: first Gemini's documents, then lines like today's.
    """
    inner = os.path.join(root, ".qwen")
    home = inner if os.path.isdir(inner) else root
    folders = [os.path.join(home, name) for name in _ROOTS]
    existing = [folder for folder in folders if os.path.isdir(folder)] or [home]
    for folder in existing:
        for file in walk_files(folder, ".jsonl"):
            if file.size < 0 or _PLACES & set(gemini_files.path_parts(file.path)[:-1]):
                yield file
        for file in walk_files(folder, ".json"):
            if os.path.basename(file.path).startswith("session-"):
                yield file


def read(file: SourceFile, offset: int, line_cap: int) -> Iterator[Block]:
    """Blocks of lines with the side files they name; a document comes whole."""
    if file.path.endswith(".json"):
        yield from gemini_files.read(file, offset, line_cap)
        return
    meta = plain_bytes(unpacked_name(file.path).removesuffix(".jsonl") + ".meta.json")
    for block in read_lines(file.path, offset, line_cap=line_cap):
        block.side_files = _outputs(file.path, block)
        if meta is not None:
            block.side_files[META] = meta
        yield block


def _outputs(path: str, block: Block) -> dict[str, bytes]:
    """Outputs too large for their record: only for a day, so what is here is taken."""
    lines = [line for _, line in block.lines] + ([block.tail[1]] if block.tail else [])
    named = dict.fromkeys(
        match.group(1).decode() for line in lines for match in _OUTPUT_NAME.finditer(line)
    )
    outputs: dict[str, bytes] = {}
    room = SIDE_CAP
    for folder in _output_folders(path) if named else ():
        for name in named:
            data = plain_bytes(os.path.join(folder, name), room)
            if data is not None and OUTPUT + name not in outputs:
                outputs[OUTPUT + name] = data
                room -= len(data)
    return outputs


def _output_folders(path: str) -> list[str]:
    """`tool-results` of every project: their folders are hashes of paths that no log line names."""
    parts = gemini_files.path_parts(path)
    levels = next((n for n, part in enumerate(parts[::-1]) if part in _ROOTS), 0) + 1
    home = path
    for _ in range(levels):
        home = os.path.dirname(home)
    try:
        projects = sorted(os.listdir(os.path.join(home, "tmp")))
    except OSError:
        return []
    return [os.path.join(home, "tmp", name, "tool-results") for name in projects]
