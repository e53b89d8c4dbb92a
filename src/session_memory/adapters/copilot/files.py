"""Copilot CLI's session files on disk, in the three layouts it has had, and their side files."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator

import msgspec

from session_memory.adapters.common import (
    Block,
    SourceFile,
    read_lines,
    source_at,
    walk_files,
)
from session_memory.plain_files import open_plain, read_plain

EVENTS = "events.jsonl"
WORKSPACE = "workspace.yaml"
CHECKPOINTS = "checkpoints"
STATE = "session-state"
HISTORY = "history-session-state"

SIDE_CAP = 1024 * 1024
SIDE_COUNT = 500
_SKIP_DIRS = frozenset(
    {CHECKPOINTS, "files", "research", "rewind-file-snapshots", "rewind-snapshots"}
)
_ID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", re.I)


def discover(root: str) -> Iterator[SourceFile]:
    """Every session log of a Copilot home, or of any other folder the user points at."""
    places = [os.path.join(root, name) for name in (STATE, HISTORY)]
    for place in [path for path in places if os.path.isdir(path)] or [root]:
        old = os.path.basename(place) == HISTORY
        for file in walk_files(place, ".json" if old else ".jsonl", skip_dirs=_SKIP_DIRS):
            yield file if old else _with_workspace(file)


def named(path: str) -> SourceFile | None:
    """The log of that path, if there is one."""
    file = source_at(path)
    return _with_workspace(file) if file else None


def _with_workspace(file: SourceFile) -> SourceFile:
    """A new title changes only a side file, and must look like a change of the log."""
    if os.path.basename(file.path) != EVENTS or file.size < 0:
        return file
    try:
        info = os.stat(os.path.join(os.path.dirname(file.path), WORKSPACE))
    except OSError:
        return file
    return msgspec.structs.replace(
        file,
        mtime_ns=max(file.mtime_ns, info.st_mtime_ns),
        ctime_ns=max(file.ctime_ns, info.st_ctime_ns),
    )


def read(file: SourceFile, offset: int, line_cap: int) -> Iterator[Block]:
    """Blocks of lines, each with the session's side files; an old document is one line."""
    if file.path.endswith(".json"):
        yield _document(file.path, line_cap)
        return
    side_files: dict[str, bytes] = {}
    if os.path.basename(file.path) == EVENTS:
        side_files = _read_side_files(os.path.dirname(file.path))
    for block in read_lines(file.path, offset, line_cap=line_cap):
        block.side_files = side_files
        yield block


def _document(path: str, cap: int) -> Block:
    with open_plain(path) as file:
        data = file.read(cap + 1)
    if len(data) > cap:
        return Block([], 0, 0, long_lines=[0])
    return Block([(0, data)] if data.strip() else [], 0, len(data))


def _read_side_files(directory: str) -> dict[str, bytes]:
    contents: dict[str, bytes] = {}
    names = [WORKSPACE]
    try:
        listed = sorted(os.listdir(os.path.join(directory, CHECKPOINTS)))
    except OSError:
        listed = []
    names += [f"{CHECKPOINTS}/{name}" for name in listed[:SIDE_COUNT] if name.endswith(".md")]
    for name in names:
        data = _plain(os.path.join(directory, *name.split("/")))
        if data is not None:
            contents[name] = data
    return contents


def _plain(path: str) -> bytes | None:
    try:
        return read_plain(path, SIDE_CAP, follow=False)
    except OSError:
        return None


def session_of(path: str) -> str:
    """The session a path names: its folder's name, or the file's; empty where neither is an id."""
    parts = path.replace("\\", "/").split("/")
    name = parts[-2] if parts[-1] == EVENTS and len(parts) > 1 else parts[-1]
    ids = _ID.findall(name)
    return ids[-1] if ids else ""
