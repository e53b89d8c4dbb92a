"""The store of Cursor's command line: one database per session, `chats/<hash>/<id>/store.db`.

Messages are JSON in the table `blobs`, in the order they were written; branches that were left stay
there and are read too. Other blobs are the client's own and are not read.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

from session_memory.adapters.common import (
    Normalized,
    SourceFile,
    as_object,
    as_text,
    decode_record,
    parse_time,
    unreadable,
)
from session_memory.adapters.cursor.text import CursorEmitter
from session_memory.adapters.excerpt import compact_json
from session_memory.adapters.gather import PartBuilder
from session_memory.adapters.sqlite_log import capped, database_source, read_database
from session_memory.adapters.whole_log import Line, Record, Records, side_object, with_sides
from session_memory.plain_files import UnfitFile

STORE = "store.db"
ABOUT = "meta.json"
"""What newer builds keep next to the database: the folder, the title, times."""
_NEEDS = {"blobs": ("id", "data"), "meta": ("key", "value")}
_FIELDS = ("agentId", "name", "createdAt", "workspacePath", "lastUsedModel", "mode")
"""The fields of a session that are read; others may hold a key to encrypted messages."""


_SAME = {"cwd": "workspacePath", "title": "name", "createdAtMs": "createdAt"}
"""Names in the file next to the database, and what the same is called in it."""


def discover(root: str) -> Iterator[SourceFile]:
    """Every session of the command line."""
    for workspace in _folders(os.path.join(root, "chats")):
        for folder in _folders(workspace):
            path = os.path.join(folder, STORE)
            if os.path.lexists(path):
                try:
                    yield with_sides(database_source(path), [os.path.join(folder, ABOUT)])
                except OSError:
                    yield unreadable(path)


def _folders(folder: str) -> list[str]:
    try:
        return sorted(entry.path for entry in os.scandir(folder) if entry.is_dir())
    except OSError:
        return []


def lines(file: SourceFile, cap: int) -> Iterator[Line]:
    """What is known of the session, then each message."""
    with read_database(file.path, _NEEDS) as db:
        values = [value for (value,) in db.rows("SELECT value FROM meta WHERE key = '0'")]
        fields = _session_fields(values[0] if values else None)
        about = side_object(os.path.join(os.path.dirname(file.path), ABOUT))
        fields |= {name: about[old] for old, name in _SAME.items() if about.get(old)}
        yield compact_json({"session": fields}).encode()
        blobs = messages = 0
        for (data,) in db.rows(f"SELECT {capped('data')} FROM blobs ORDER BY rowid", cap):
            blobs += 1
            if data is None:
                yield None
            elif data.lstrip()[:1] == b"{":
                messages += 1
                yield b'{"message":%b}' % data
        if blobs and not messages:
            raise UnfitFile("none of its messages can be read: they may be encrypted")


def _session_fields(value: Any) -> Record:
    """What is known of a session: JSON, or JSON as hexadecimal digits."""
    data = value.encode() if isinstance(value, str) else bytes(value or b"")
    record = decode_record(data)
    if record is None:
        try:
            record = decode_record(bytes.fromhex(data.decode("ascii")))
        except ValueError:
            record = None
    return {name: record[name] for name in _FIELDS if record and name in record}


def emit(source: SourceFile, records: Records, bundle: Normalized) -> None:
    """Read a whole session."""
    if not records:
        return
    fields = as_object(records[0][1].get("session"))
    part = PartBuilder(os.path.basename(os.path.dirname(source.path)))
    part.begin(
        cwd=as_text(fields.get("workspacePath")),
        title=as_text(fields.get("name")),
        opened=parse_time(fields.get("createdAt")),
    )
    part.note("stand_in", "history", 0)  # where the editor has the session too, it has more of it
    if model := as_text(fields.get("lastUsedModel")):
        part.note_model(model, 0)
    emitter = MessageEmitter(part, bundle)
    for _, record in records[1:]:
        emitter.emit(as_object(record.get("message")))
    emitter.finish(source.mtime_ns // 1_000_000 or None)


class MessageEmitter(CursorEmitter):
    """Turns the messages of one session into events."""

    def emit(self, message: Record) -> None:
        """Take in one message."""
        self.at = parse_time(message.get("createdAt")) or self.at
        role, content = as_text(message.get("role")), message.get("content")
        options = as_object(as_object(message.get("providerOptions")).get("cursor"))
        if model := as_text(options.get("modelName")):
            self.part.note_model(model, len(self.part.events))
        if role == "system":
            self.ignore("system prompt")
        elif role in ("user", "assistant", "tool"):
            self.emit_blocks(role, content)
        else:
            self.unknown(f"message/{role or 'no role'}", message)
