"""The conversations in Kiro CLI's database: one JSON value each, in one of two tables."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from session_memory.adapters.common import as_text, parse_time
from session_memory.adapters.sqlite_log import Database, SessionRows, capped, readable, text_of
from session_memory.core.hashing import blake2b
from session_memory.plain_files import UnfitFile

TABLE, OLD_TABLE = "conversations_v2", "conversations"
_NEEDS = {TABLE: ("key", "conversation_id", "value", "updated_at"), OLD_TABLE: ("key", "value")}


def list_sessions(db: Database) -> Iterator[SessionRows]:
    """Every conversation once: the same one may stand under several folders, the newest counts.

    The older table has no column of ids. There the folder names the source; the conversation's
    own id is in its value, which is not read for a listing.
    """
    sessions: dict[str, SessionRows] = {}
    for name, _, changed, size, *mark in _rows(db):
        at = parse_time(changed)
        held = sessions.get(name)
        if held is None or (at or 0) >= (held.changed_at or 0):
            sessions[name] = SessionRows(name, at, (*mark, changed, size), size or 0)
    yield from sessions.values()


def newest_row(db: Database, session: str, cap: int) -> tuple[dict[str, Any], bytes | None]:
    """What is known of a conversation, and its value; None in its place if that is over the cap."""
    rows = [row for row in _rows(db) if row[0] == session]
    if not rows:
        raise FileNotFoundError(f"conversation {session} is no longer in it")
    _, key, changed, _, number, created = max(rows, key=lambda row: parse_time(row[2]) or 0)
    query = f"SELECT {capped('value')} FROM {_table(db)} WHERE rowid = ?"
    (value,) = next(db.rows(query, cap, number))
    return {"key": key, "created_at": created, "updated_at": changed}, value


def _rows(db: Database) -> Iterator[tuple[Any, ...]]:
    """(name, folder, changed, size, row, created) of every row, in the order of rows."""
    table = _table(db)
    db.require({table: _NEEDS[table]})
    there = db.columns(table)
    name = text_of("conversation_id") if table == TABLE else "NULL"
    times = (column if column in there else "NULL" for column in ("updated_at", "created_at"))
    changed, created = times
    columns = f"{name}, {text_of('key')}, {changed}, octet_length(value), rowid, {created}"
    for stated_id, key, *rest in db.rows(f"SELECT {columns} FROM {table} ORDER BY rowid"):
        folder = as_text(readable(key))
        yield as_text(readable(stated_id)) or _name_of(folder), folder, *rest


def _table(db: Database) -> str:
    for table in (TABLE, OLD_TABLE):
        if db.columns(table):
            return table
    raise UnfitFile(f"it has no table {TABLE}")


def _name_of(folder: str) -> str:
    digest = blake2b(folder.encode("utf-8", "surrogateescape"), digest_size=8).hexdigest()
    return f"folder-{digest}"
