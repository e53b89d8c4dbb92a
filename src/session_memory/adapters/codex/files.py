"""Where Codex keeps its rollout files, and how they are read: plain, packed or as a whole."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator

from session_memory.adapters.common import Block, SourceFile, read_lines, walk_files
from session_memory.plain_files import open_plain

_ROOTS = ("sessions", "archived_sessions")
_SKIP_FILES = frozenset({"history.jsonl", "session_index.jsonl"})
_UUID = "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
_NAME = re.compile(rf"rollout-.*?({_UUID})(_{_UUID})?\.json")


def discover(root: str) -> Iterator[SourceFile]:
    """Every rollout of a Codex home, archived ones too, or of any folder the user points at."""
    roots = [path for name in _ROOTS if os.path.isdir(path := os.path.join(root, name))] or [root]
    for place in roots:
        for suffix in (".jsonl", ".json"):
            for file in walk_files(place, suffix):
                unlisted = file.path == place and suffix == ".jsonl"  # once, not per suffix
                if unlisted or _is_rollout(file.path, suffix):
                    yield file


def _is_rollout(path: str, suffix: str) -> bool:
    name = os.path.basename(path)
    if name.startswith(".") or name in _SKIP_FILES:  # a dot: still being written
        return False
    return suffix == ".jsonl" or name.startswith("rollout-")


def thread_of(path: str) -> str:
    """The thread a file's name speaks of; a reverted thread's file has a second id behind it."""
    name = re.split(r"[/\\]", path)[-1]
    match = _NAME.match(name)
    return match.group(1) if match else name.partition(".json")[0]


def is_revert(path: str) -> bool:
    """True for a second file of one thread, written after its history was cut back."""
    match = _NAME.match(re.split(r"[/\\]", path)[-1])
    return match is not None and match.group(2) is not None


def read(file: SourceFile, offset: int, line_cap: int) -> Iterator[Block]:
    """Blocks of a rollout. Offsets into a packed file count its unpacked bytes.

    So a file that is packed later has its events in the same places. The cursor's own checks see
    the packed bytes: any change of them has the file read whole again.
    """
    if file.path.endswith(".json"):
        return _read_document(file.path, line_cap)
    return read_lines(file.path, offset, line_cap=line_cap, keep_ends=True)


def _read_document(path: str, line_cap: int) -> Iterator[Block]:
    """One object over many lines, rewritten at each change: it moves no cursor."""
    with open_plain(path) as file:
        data = file.read(line_cap + 1)
    if len(data) > line_cap:
        yield Block([], 0, 0, long_lines=[0])
    elif data.strip():
        yield Block([], 0, 0, tail=(0, data))
