"""Where Codex keeps its rollout files, and how they are read: plain, packed or as a whole."""

from __future__ import annotations

import importlib
import os
import re
import sys
from collections.abc import Iterator
from types import ModuleType
from typing import BinaryIO

from session_memory.adapters.common import (
    BLOCK_BYTES,
    Block,
    SourceFile,
    read_lines,
    walk_files,
)
from session_memory.errors import AdapterError
from session_memory.plain_files import open_plain

PACKED = ".jsonl.zst"
UNPACKED_CAP = 4 * 1024**3
"""A packed log that grows beyond this is no log."""

_ROOTS = ("sessions", "archived_sessions")
_SKIP_FILES = frozenset({"history.jsonl", "session_index.jsonl"})
_UUID = "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
_NAME = re.compile(rf"rollout-.*?({_UUID})(_{_UUID})?\.json")


def discover(root: str) -> Iterator[SourceFile]:
    """Every rollout of a Codex home, archived ones too, or of any folder the user points at."""
    roots = [path for name in _ROOTS if os.path.isdir(path := os.path.join(root, name))] or [root]
    for place in roots:
        for suffix in (".jsonl", PACKED, ".json"):
            for file in walk_files(place, suffix):
                unlisted = file.path == place and suffix == ".jsonl"  # once, not per suffix
                if unlisted or _is_rollout(file.path, suffix):
                    yield file


def _is_rollout(path: str, suffix: str) -> bool:
    name = os.path.basename(path)
    if name.startswith(".") or name in _SKIP_FILES:  # a dot: still being written
        return False
    if suffix == PACKED:  # while a file is packed or unpacked both are there: the plain one counts
        return not os.path.exists(path.removesuffix(".zst"))
    return suffix == ".jsonl" or name.startswith("rollout-")


def thread_of(path: str) -> str:
    """The thread a file's name speaks of; a reverted thread's file has a second id behind it."""
    name = re.split(r"[/\\]", path)[-1]
    found = _NAME.match(name)
    return found.group(1) if found else name.partition(".json")[0]


def is_revert(path: str) -> bool:
    """True for a second file of one thread, written after its history was cut back."""
    found = _NAME.match(re.split(r"[/\\]", path)[-1])
    return found is not None and found.group(2) is not None


def read(file: SourceFile, offset: int, line_cap: int) -> Iterator[Block]:
    """Blocks of a rollout. Offsets into a packed file count its unpacked bytes.

    So a file that is packed later has its events in the same places. The cursor's own checks see
    the packed bytes: any change of them has the file read whole again.
    """
    if file.path.endswith(".zst"):
        return _read_packed(file.path, offset, line_cap)
    if file.path.endswith(".json"):
        return _read_document(file.path, line_cap)
    return read_lines(file.path, offset, line_cap=line_cap)


def _read_document(path: str, line_cap: int) -> Iterator[Block]:
    """One object over many lines, rewritten at each change: it moves no cursor."""
    with open_plain(path) as file:
        data = file.read(line_cap + 1)
    if len(data) > line_cap:
        yield Block([], 0, 0, too_long=1)
    elif data.strip():
        yield Block([], 0, 0, tail=(0, data))


def _read_packed(path: str, offset: int, line_cap: int) -> Iterator[Block]:
    zstd = _zstd()
    with open_plain(path) as packed, zstd.open(packed, "rb") as stream:
        try:
            yield from _blocks(stream, offset, line_cap)
        except (zstd.ZstdError, EOFError) as error:
            raise AdapterError(f"{os.path.basename(path)} cannot be unpacked: {error}") from error


def _blocks(stream: BinaryIO, offset: int, line_cap: int) -> Iterator[Block]:
    """Whole lines of a stream that can only be read forwards."""
    here = 0
    while here < offset and (data := stream.read(min(BLOCK_BYTES, offset - here))):
        here += len(data)
    start, carry = here, b""
    too_long, skipping = 0, False  # skipping: inside a line over the cap
    while data := stream.read(BLOCK_BYTES):
        here += len(data)
        if here > UNPACKED_CAP:
            raise AdapterError(f"it unpacks to more than {UNPACKED_CAP} bytes")
        if skipping:
            cut = data.find(b"\n") + 1
            if not cut:
                continue
            start, data = here - len(data) + cut, data[cut:]
            skipping, too_long = False, too_long + 1
        whole, newline, carry = (carry + data).rpartition(b"\n")
        if newline:
            lines, long_here = _lines(whole, start, line_cap)
            end = start + len(whole) + 1
            yield Block(lines, start, end, too_long=too_long + long_here)
            start, too_long = end, 0
        if len(carry) > line_cap:
            carry, skipping = b"", True
    if carry or skipping or too_long:  # an endless last line is neither consumed nor kept
        tail = (start, carry) if carry or skipping else None
        yield Block([], start, start, tail=tail, too_long=too_long)


def _lines(whole: bytes, start: int, line_cap: int) -> tuple[list[tuple[int, bytes]], int]:
    lines: list[tuple[int, bytes]] = []
    too_long = 0
    for line in whole.split(b"\n"):
        if len(line) > line_cap:
            too_long += 1
        elif line and not line.isspace():
            lines.append((start, line))
        start += len(line) + 1
    return lines, too_long


def _zstd() -> ModuleType:
    """Imported when a packed log is read: most never are."""
    name = "compression.zstd" if sys.version_info >= (3, 14) else "backports.zstd"
    return importlib.import_module(name)
