"""Zed's threads: rows of `threads/threads.db`, each one JSON document, mostly packed."""

from __future__ import annotations

import os
from collections.abc import Iterator

import msgspec

from session_memory.adapters.common import (
    Json,
    as_list,
    as_text,
    decode_record,
    parse_time,
)
from session_memory.adapters.packed import unpack_zstd
from session_memory.adapters.sqlite_log import (
    Database,
    SessionRows,
    capped,
    readable,
    sqlite_adapter,
    text_of,
)
from session_memory.adapters.whole_log import Line, array_lines
from session_memory.adapters.zed import AGENT
from session_memory.adapters.zed.messages import emit, is_message
from session_memory.errors import AdapterError

DATABASE = "threads.db"
NEEDS = {"threads": ("id", "summary", "updated_at", "data_type", "data")}
_COLUMNS = ("id", "summary", "updated_at", "data_type", "parent_id", "folder_paths", "created_at")


def find(root: str) -> Iterator[str]:
    """The database below a folder of Zed's, or in one that the user named."""
    for path in (os.path.join(root, "threads", DATABASE), os.path.join(root, DATABASE)):
        if os.path.lexists(path):
            yield path


def list_sessions(db: Database) -> Iterator[SessionRows]:
    """Every thread; its row is replaced at each change."""
    for row, size in _rows(db, "octet_length(data)"):
        at = parse_time(row.get("updated_at"))
        held = size if isinstance(size, int) else 0
        yield SessionRows(as_text(row["id"]), at, (*row.values(), size), held)


def lines(db: Database, session: str, cap: int) -> Iterator[Line]:
    """What the row says of the thread, then its document by messages."""
    thread_row = next(_rows(db, capped("data"), session, cap), None)
    if thread_row is None:
        raise FileNotFoundError(f"thread {session} is no longer in it")
    row, data = thread_row
    try:
        document = _unpacked(row, data, cap)
    except AdapterError as error:
        yield msgspec.json.encode({"thread": row})
        yield f"damaged: {error}".encode()
        return
    whole = None if document is None else decode_record(document)
    if document is None or whole is None:
        yield msgspec.json.encode({"thread": row})
        # Of a damaged document the messages that are whole.
        yield from [None] if document is None else array_lines(document, "message", is_message)
        return
    messages = as_list(whole.pop("messages", None))
    yield msgspec.json.encode({"thread": row, "document": whole})
    for message in messages:
        yield msgspec.json.encode({"message": message})


def _unpacked(row: dict[str, Json], data: Json, cap: int) -> bytes | None:
    """A thread's document; None if it is over the cap."""
    if not isinstance(data, bytes) or as_text(row.get("data_type")) != "zstd":
        return data
    return unpack_zstd(data, cap)


def _rows(
    db: Database, data: str, session: str = "", cap: int = 0
) -> Iterator[tuple[dict[str, Json], Json]]:
    """Rows by column, of those this version of Zed has, each with something of its data."""
    there = db.columns("threads")
    names = [name for name in _COLUMNS if name in there]
    columns = ", ".join(text_of(name) for name in names)
    where, values = ("WHERE id = ?", (cap, session)) if session else ("", ())
    for *fields, value in db.rows(f"SELECT {columns}, {data} FROM threads {where}", *values):
        yield dict(zip(names, map(readable, fields), strict=True)), value


ADAPTER = sqlite_adapter(
    AGENT, find=find, needs=NEEDS, list_sessions=list_sessions, lines=lines, emit=emit
)
