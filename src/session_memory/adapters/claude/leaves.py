"""Whose title a `summary` at the top of a log is.

Old clients began a log with titles of earlier sessions. Each names a record of its session by the
record's id alone, so the other logs of the folder are searched for it.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Iterable, Iterator

import msgspec

from session_memory.adapters.common import Block, SourceFile, as_text, decode_record, read_lines
from session_memory.plain_files import open_plain
from session_memory.regex_cache import compiled

OWNERS = "leaf owners"
"""The name under which a block carries {leaf: session}."""
_SUMMARY = compiled(rb'"type"\s*:\s*"summary"')
_ID = compiled(rb'\s*:\s*"([^"\\]{1,64})"')
_SESSION = compiled(rb'"sessionId"\s*:\s*"([^"\\]{1,200})"')
_SEARCHED_MAX = 512 * 1024 * 1024
"""Most bytes of a folder that are searched."""
_PIECE = 1024 * 1024
"""Bytes of a log in memory at a time, and the longest line of a title."""
_OVERLAP = 512
"""Bytes of a piece that are searched again with the next one, as a name may lie across both."""


def read(file: SourceFile, offset: int, line_cap: int) -> Iterator[Block]:
    """The lines behind `offset`; titles of other sessions come with the names of their owners."""
    for block in read_lines(file.path, offset, line_cap=line_cap, keep_ends=True):
        if block.start == 0 and block.lines and _SUMMARY.search(block.lines[0][1]):
            owners = _owners(file.path, set(_leaves(line for _, line in block.lines)))
            block.side_files = {OWNERS: msgspec.json.encode(owners)} if owners else {}
        yield block


def owners_in(block: Block) -> dict[str, str]:
    """{leaf: session} of a block."""
    owners = decode_record(block.side_files.get(OWNERS, b"")) or {}
    return {leaf: as_text(session) for leaf, session in owners.items()}


def _leaves(lines: Iterable[bytes]) -> Iterator[str]:
    """The records that the titles at the top of a log name."""
    for line in lines:
        if not _SUMMARY.search(line):
            return
        if leaf := as_text((decode_record(line) or {}).get("leafUuid")):
            yield leaf


class _Log(msgspec.Struct, frozen=True):
    """What is needed of another log."""

    session: str
    last: str
    """The id of its last record."""


def _owners(path: str, leaves: set[str]) -> dict[str, str]:
    """The session of each leaf that exactly one log holds, or ends with."""
    owners: dict[str, str] = {}
    logs = _search(os.path.dirname(path), _stamp(os.path.dirname(path)))
    for leaf in leaves:
        holding = [log for other, log in logs.get(leaf, ()) if other != path]
        ending = [log for log in holding if log.last == leaf]
        sessions = {log.session for log in (holding if len(holding) == 1 else ending)}
        if len(sessions) == 1:
            owners[leaf] = sessions.pop()
    return owners


def _stamp(folder: str) -> tuple[tuple[str, int, int], ...]:
    """Which logs a folder holds, and in which state."""
    try:
        entries = [entry for entry in os.scandir(folder) if entry.name.endswith(".jsonl")]
        states = ((entry.path, entry.stat()) for entry in entries if entry.is_file())
        return tuple(sorted((path, info.st_size, info.st_mtime_ns) for path, info in states))
    except OSError:
        return ()


@functools.lru_cache(maxsize=1)
def _search(
    _folder: str, stamp: tuple[tuple[str, int, int], ...]
) -> dict[str, list[tuple[str, _Log]]]:
    """Which logs of a folder hold the records that its titles name; once for all logs of it."""
    paths: list[str] = []
    left = _SEARCHED_MAX
    for path, size, _ in stamp:
        left -= size
        if left < 0:
            break
        paths.append(path)
    wanted = {leaf for path in paths for leaf in _top_leaves(path)}
    logs: dict[str, list[tuple[str, _Log]]] = {leaf: [] for leaf in wanted}
    for path in paths:
        log, leaves = _held(path, wanted)
        for leaf in leaves:
            logs[leaf].append((path, log))
    return logs


def _top_leaves(path: str) -> list[str]:
    try:
        with open_plain(path) as stream:
            return list(_leaves(iter(functools.partial(stream.readline, _PIECE), b"")))
    except OSError:
        return []


def _held(path: str, wanted: set[str]) -> tuple[_Log, set[str]]:
    """What is needed of a log, and which of the wanted records it holds."""
    session = last = ""
    leaves: set[str] = set()
    try:
        for piece in _pieces(path):
            behind = map(_ID.match, piece.split(b'"uuid"')[1:])
            names = [match[1].decode("utf-8", "replace") for match in behind if match]
            leaves.update(wanted.intersection(names))
            last = names[-1] if names else last
            if not session and (named := _SESSION.search(piece)):
                session = named[1].decode("utf-8", "replace")
    except OSError:
        return _Log("", ""), set()
    return _Log(session, last), leaves if session else set()


def _pieces(path: str) -> Iterator[bytes]:
    """A log piece by piece: as a whole it may be larger than what a sweep may take."""
    with open_plain(path) as stream:
        piece = b""
        while data := stream.read(_PIECE):
            piece = piece[-_OVERLAP:] + data
            yield piece
