"""Grok Build's session directories on disk: finds them and reads one as a single block."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator

import msgspec

from session_memory.adapters.common import Block, SourceFile, has_vanished, unreadable
from session_memory.adapters.whole_log import whole_block
from session_memory.plain_files import open_plain
from session_memory.regex_cache import compiled

UPDATES = "updates.jsonl"
CHAT = "chat_history.jsonl"
SUMMARY = "summary.json"
EVENTS = "events.jsonl"
CWD = ".cwd"
SUBAGENTS = "subagents"
CHECKPOINTS = "compaction_checkpoints"
OVERFLOWS = ("terminal", "mcp")
LOG = "log"
"""Key in `Block.side_files` that says which file the lines are of: the history of an empty log."""
PARTS = (UPDATES, CHAT, EVENTS, SUMMARY)
"""What Grok writes for every session."""
MISSING = "missing"
"""Key in `Block.side_files` under which parts that are not there are named, one a line."""
TOO_LARGE = "too_large"
"""Key in `Block.side_files` under which side files over the cap are named, one a line."""

_CONVERSATION = compiled(rb'"(?:user|agent)_\w+_chunk"|"tool_call"')
"""What every conversation has in its updates; hooks and settings come before it begins."""
_ANSWERED = compiled(rb'"type"\s*:\s*"assistant"')
SIDE_CAP = 16 * 1024 * 1024
"""Most bytes of one side file, and of all overflow files of a session together."""
SIDE_COUNT = 2000
OVERFLOW_FLOOR = 8 * 1024
"""Grok cuts output at about 19 KB, so a shorter file stands whole in its record."""

_WATCHED = frozenset({SUMMARY, EVENTS, SUBAGENTS, CHECKPOINTS, *OVERFLOWS})
_OWN = _WATCHED | {UPDATES, CHAT}


def discover(root: str) -> Iterator[SourceFile]:
    """One source per session directory of a Grok home, or of any other folder the user names."""
    sessions = os.path.join(root, "sessions")
    stack = [sessions if os.path.isdir(sessions) else root]
    while stack:
        folder = stack.pop()
        try:
            with os.scandir(folder) as listing:
                entries = {entry.name: entry for entry in listing}
        except OSError:
            if os.path.lexists(folder):  # reading it fails, and so the sweep reports it
                yield SourceFile(folder, -1, 0, 0, 0, 0)
            continue
        source = _session_source(entries)
        if source is not None:
            yield source
        else:
            stack += [e.path for e in entries.values() if e.is_dir(follow_symlinks=False)]


def named(path: str) -> SourceFile | None:
    """The session whose log a path is; only its own folder is looked at."""
    try:
        with os.scandir(os.path.dirname(path)) as listing:
            entries = {entry.name: entry for entry in listing if entry.name in _OWN}
    except (OSError, ValueError):
        return None
    source = _session_source(entries)
    return source if source is not None and source.path == path else None


def _session_source(entries: dict[str, os.DirEntry[str]]) -> SourceFile | None:
    """A directory as a source, if it is a session's: the other grok-cli shares `~/.grok`."""
    log = entries.get(UPDATES) or (entries.get(CHAT) if SUMMARY in entries else None)
    if log is None:
        return None
    try:
        info = log.stat()
        watched = _WATCHED if info.st_size else _WATCHED | {CHAT}
        side_stats = [entries[name].stat() for name in watched if name in entries]
    except OSError as error:
        return None if has_vanished(error, log.path) else unreadable(log.path)
    if not stat.S_ISREG(info.st_mode):
        return unreadable(log.path)
    # A new title or outcome changes a side file only, and must look like a change of the source.
    mtime = max(info.st_mtime_ns, *(side.st_mtime_ns for side in side_stats), 0)
    ctime = max(info.st_ctime_ns, *(side.st_ctime_ns for side in side_stats), 0)
    # The history is rewritten all the time and only told where there are no updates: of it only
    # whether it is there counts, and each part that is not moves the stamp by a nanosecond.
    ctime += sum(part not in entries for part in PARTS)
    return SourceFile(log.path, info.st_size, mtime, ctime, info.st_dev, info.st_ino)


def read(file: SourceFile, _offset: int, line_cap: int) -> Iterator[Block]:
    """The whole session as one block: its order is not that of its bytes.

    The log comes first and its side files after it: an outcome is written before the result it
    belongs to, so what is read later knows about everything read before.
    """
    directory, log = os.path.split(file.path)
    whole = whole_block(file.path, line_cap)
    if log == UPDATES and not any(map(_CONVERSATION.search, _lines(whole))):
        # It was emptied, or cut before the conversation begins.
        history = os.path.join(directory, CHAT)
        chat = whole_block(history, line_cap) if os.path.isfile(history) else None
        if chat and (not whole.lines or any(map(_ANSWERED.search, _lines(chat)))):
            whole, log = chat, CHAT
    whole.side_files = _read_side_files(directory) | {LOG: log.encode()}
    yield whole


def _lines(block: Block) -> Iterator[bytes]:
    yield from (line for _, line in block.lines)
    if block.tail is not None:
        yield block.tail[1]


class _Sides(msgspec.Struct):
    """Side files read so far, and what is left of the room for them."""

    directory: str
    contents: dict[str, bytes] = {}
    too_large: list[str] = []
    room: int = SIDE_CAP

    def take(self, name: str, *, floor: int = 0, shared_room: bool = False) -> None:
        """Read one plain file, if it is there and fits."""
        path = os.path.join(self.directory, *name.split("/"))
        cap = self.room if shared_room else SIDE_CAP
        try:
            with open_plain(path, follow=False) as file:
                data = file.read(cap + 1)
        except OSError:
            return
        if len(data) < floor:
            return
        if len(data) > cap:
            self.too_large.append(name)
            return
        self.contents[name] = data
        if shared_room:
            self.room -= len(data)

    def take_folder(self, name: str, suffix: str, *, floor: int = 0) -> None:
        """Read every file of a folder, in the order of their names."""
        try:
            names = sorted(os.listdir(os.path.join(self.directory, name)))
        except OSError:
            return
        for entry in names[:SIDE_COUNT]:
            self.take(f"{name}/{entry}{suffix}", floor=floor, shared_room=True)


def _read_side_files(directory: str) -> dict[str, bytes]:
    sides = _Sides(directory)
    sides.take(SUMMARY)
    sides.take(EVENTS)
    sides.take(f"../{CWD}")
    sides.take_folder(SUBAGENTS, "/meta.json")
    sides.take_folder(CHECKPOINTS, "")
    for folder in OVERFLOWS:
        sides.take_folder(folder, "", floor=OVERFLOW_FLOOR)
    missing = [part for part in PARTS if not os.path.isfile(os.path.join(directory, part))]
    sides.contents[MISSING] = "\n".join(missing).encode()
    if sides.too_large:
        sides.contents[TOO_LARGE] = "\n".join(sides.too_large).encode("utf-8", "surrogateescape")
    return sides.contents
