"""Where OpenCode keeps sessions: rows of a database, files of its older storage, exports.

Whatever holds a session, its reader gives the same lines: the session, then every message with
its parts. An upgraded client leaves the files next to the database, with the same ids; equal lines
make equal events, so both are one session.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from typing import BinaryIO

import msgspec

from session_memory.adapters.common import (
    BLOCK_BYTES,
    LINE_CAP,
    Block,
    IsKnown,
    SourceFile,
    as_list,
    as_object,
    as_text,
    decode_record,
    source_at,
    walk_files,
)
from session_memory.adapters.opencode import db as opencode_db
from session_memory.adapters.opencode.db import END, record
from session_memory.adapters.whole_log import Line, lines_as_file
from session_memory.plain_files import open_plain, read_plain

HEAD = 256
EXPORT_CAP = 1024 * 1024 * 1024
_EXPORT = re.compile(rb'\s*\{\s*"info"\s*:\s*\{')
"""How an export begins; other JSON in a folder, keys of providers among it, is not read."""


def discover(root: str, is_known: IsKnown | None = None) -> Iterator[SourceFile]:
    """Sessions of an OpenCode data directory, or exports in any other folder the user names."""
    databases = _databases(root)
    for path in databases:
        yield from opencode_db.sessions(path, is_known)
    stored = os.path.join(root, "storage", "session")
    if os.path.isdir(stored):
        for file in walk_files(stored, ".json"):
            yield _with_messages(file)
    elif not databases:
        yield from (file for file in walk_files(root, ".json") if _is_export(file))


def named(path: str) -> SourceFile | None:
    """A session's file or an export; what the database holds has no path of its own."""
    file = source_at(path)
    if file is None or not (_storage_of(path) or _is_export(file)):
        return None
    return _with_messages(file)


def read(file: SourceFile, _offset: int, line_cap: int) -> Iterator[Block]:
    """A whole session in blocks, each message behind the one before it."""
    block = Block([], 0, 0)
    for line in _lines(file, line_cap):
        if line is None or len(line) > line_cap:
            block.long_lines.append(block.end)
            continue
        block.lines.append((block.end, line))
        block.end += len(line) + 1
        if block.end - block.start >= BLOCK_BYTES:
            yield block
            block = Block([], block.end, block.end)
    yield block


def open_lines(file: SourceFile) -> BinaryIO:
    """The lines of a session as a file would hold them: what its offsets count in."""
    return lines_as_file(_lines(file, LINE_CAP))


def _lines(file: SourceFile, cap: int) -> Iterator[Line]:
    if (file.path.rpartition("#")[0] or file.path).endswith(".db"):
        return opencode_db.lines(file, cap)
    home = _storage_of(file.path)
    return _stored_lines(home, file.path) if home else _exported_lines(file.path)


# --- the database ---


def _databases(root: str) -> list[str]:
    """`opencode.db`, or that of another release channel."""
    try:
        names = sorted(os.listdir(root))
    except OSError:
        return []
    return [
        os.path.join(root, name)
        for name in names
        if name.startswith("opencode") and name.endswith(".db")
    ]


# --- the older storage: a file per session, message and part ---


def _storage_of(path: str) -> str | None:
    """The storage folder a session's file is in, if it is in one."""
    group = os.path.dirname(os.path.dirname(path))
    home = os.path.dirname(group)
    stored = os.path.basename(group) == "session" and os.path.basename(home) == "storage"
    return home if stored else None


def _with_messages(file: SourceFile) -> SourceFile:
    """The session's file under a stamp that changes with its messages.

    A message's file is written again when its parts are complete, so only the last message, which
    may never be completed, has its parts looked at too.
    """
    home = _storage_of(file.path)
    if home is None or file.size < 0:
        return file
    messages = sorted(
        walk_files(os.path.join(home, "message", _stem(file.path)), ".json"), key=_path
    )
    last = os.path.join(home, "part", _stem(messages[-1].path)) if messages else None
    every = [file, *messages, *(walk_files(last, ".json") if last else ())]
    return msgspec.structs.replace(
        file,
        size=sum(entry.size for entry in every),
        mtime_ns=max(entry.mtime_ns for entry in every),
        ctime_ns=max(entry.ctime_ns for entry in every),
    )


def _stored_lines(home: str, path: str) -> Iterator[Line]:
    yield record("session", _stem(path), read_plain(path, LINE_CAP))
    for message in _contents(os.path.join(home, "message", _stem(path))):
        yield record("message", *message)
        for part in _contents(os.path.join(home, "part", message[0])):
            yield record("part", *part)
        yield END


def _contents(folder: str) -> Iterator[tuple[str, bytes]]:
    """(id, content) of every file of a folder, in the order of ids, which is that of time."""
    for file in sorted(walk_files(folder, ".json"), key=_path):
        yield _stem(file.path), read_plain(file.path, LINE_CAP)


def _stem(path: str) -> str:
    return os.path.splitext(os.path.basename(path))[0]


def _path(file: SourceFile) -> str:
    return file.path


# --- exports: one document ---


def _is_export(file: SourceFile) -> bool:
    try:
        with open_plain(file.path) as stream:
            return _EXPORT.match(stream.read(HEAD)) is not None
    except OSError:
        return True  # reading it fails, and so it is reported


def _exported_lines(path: str) -> Iterator[Line]:
    data = read_plain(path, EXPORT_CAP)
    document = decode_record(data)
    if document is None:
        yield data  # no JSON: the parser counts it
        return
    info = as_object(document.get("info"))
    name = as_text(info.get("id"))
    # Upstream redaction may have put one word in the place of every id.
    name = name if name.startswith("ses") else _stem(path)
    yield record("session", name, msgspec.json.encode({**info, "id": name}))
    for message in map(as_object, as_list(document.get("messages"))):
        inner = as_object(message.get("info"))
        yield record("message", as_text(inner.get("id")), msgspec.json.encode(inner))
        for part in map(as_object, as_list(message.get("parts"))):
            yield record("part", as_text(part.get("id")), msgspec.json.encode(part))
        yield END
