"""Kimi's sessions: finds the `wire.jsonl` of each agent and says whose it is.

`sessions/FOLDER/SESSION/agents/NAME/wire.jsonl` in Kimi Code, `sessions/FOLDER/SESSION/wire.jsonl`
in the older CLI. The older one's `context.jsonl` repeats the messages and is not read.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator

from session_memory.adapters.common import (
    Normalized,
    SourceFile,
    as_list,
    as_object,
    as_text,
    decode_record,
    parse_time,
    walk_files,
)
from session_memory.adapters.gather import PartBuilder
from session_memory.adapters.kimi import AGENT
from session_memory.adapters.kimi.records import WireEmitter, is_record
from session_memory.adapters.whole_log import (
    Records,
    line_log_adapter,
    side_file,
    with_sides,
)

LOG = "wire.jsonl"
STATE = "state.json"
FOLDERS = "kimi.json"
MAIN = "main"
_INTERNAL = ("ctitle-", "sklsum-", "dvlt-")
"""Folders in which Kimi's desktop app runs small tasks of its own."""


def discover(root: str) -> Iterator[SourceFile]:
    """The log of every agent below a folder."""
    sessions = os.path.join(root, "sessions")
    for file in walk_files(sessions if os.path.isdir(sessions) else root, LOG):
        folder, _ = place_of(file.path)
        named = file.size < 0 or os.path.basename(file.path) == LOG
        if named and not os.path.basename(folder).startswith(_INTERNAL):
            yield with_sides(file, [os.path.join(folder, STATE)])


def place_of(path: str) -> tuple[str, str]:
    """The folder of a log's session, and the name of its agent."""
    folder = os.path.dirname(path)
    above = os.path.dirname(folder)
    if os.path.basename(above) == "agents":
        return os.path.dirname(above), os.path.basename(folder)
    return folder, MAIN


def side_files(path: str) -> dict[str, bytes]:
    """What says more about a log: the state of its session, and the older CLI's list of folders."""
    folder, _ = place_of(path)
    above = os.path.dirname(os.path.dirname(os.path.dirname(folder)))
    paths = {STATE: os.path.join(folder, STATE), FOLDERS: os.path.join(above, FOLDERS)}
    return {
        name: data
        for name, full_path in paths.items()
        if (data := side_file(full_path)) is not None
    }


def emit(source: SourceFile, records: Records, bundle: Normalized, sides: dict[str, bytes]) -> None:
    """Read the whole log of one agent."""
    folder, agent = place_of(source.path)
    state = decode_record(sides.get(STATE, b"")) or {}
    session = as_text(state.get("id")) or as_text(state.get("sessionId"))
    session = session or os.path.basename(folder).removeprefix("session_")
    main = agent == MAIN
    part = PartBuilder(session if main else f"{session}:{agent}", None if main else session)
    if not main:
        part.note("label", agent, 0)
    cwd = as_text(state.get("cwd")) or as_text(state.get("workDir"))
    cwd = cwd or _folder_by_hash(os.path.basename(os.path.dirname(folder)), sides)
    part.begin(cwd=cwd, opened=parse_time(state.get("createdAt")))
    emitter = WireEmitter(part, bundle)
    emitter.emit([record for _, record in records])
    emitter.finish()


def _folder_by_hash(name: str, sides: dict[str, bytes]) -> str:
    """The folder whose MD5 names the place of an older session."""
    listed = as_list((decode_record(sides.get(FOLDERS, b"")) or {}).get("work_dirs"))
    for path in (as_text(as_object(entry).get("path")) for entry in listed):
        digest = hashlib.md5(path.encode("utf-8", "replace"), usedforsecurity=False)
        if path and digest.hexdigest() == name:
            return path
    return ""


ADAPTER = line_log_adapter(
    AGENT, discover=discover, is_record=is_record, emit=emit, side_files=side_files
)
