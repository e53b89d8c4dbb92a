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
_OLD_ID = "CASE WHEN json_valid(value) THEN json_extract(value, '$.conversation_id') END"


def list_sessions(db: Database) -> Iterator[SessionRows]:
    """Every conversation once: the same one may stand under several folders, the newest counts."""
    found: dict[str, SessionRows] = {}
    for name, _, changed, size, *mark in _rows(db, "octet_length(value)"):
        at = parse_time(changed)
        held = found.get(name)
        if held is None or (at or 0) >= (held.changed_at or 0):
            found[name] = SessionRows(name, at, (*mark, changed, size), size or 0)
    yield from found.values()


def newest_row(db: Database, session: str, cap: int) -> tuple[dict[str, Any], bytes | None]:
    """What is known of a conversation, and its value; None in its place if that is over the cap."""
    rows = [row for row in _rows(db, "octet_length(value)") if row[0] == session]
    if not rows:
        raise FileNotFoundError(f"conversation {session} is no longer in it")
    _, key, changed, _, number, created = max(rows, key=lambda row: parse_time(row[2]) or 0)
    (value,) = next(
        db.rows(f"SELECT {capped('value')} FROM {_table(db)} WHERE rowid = ?", cap, number)
    )
    known = {"conversation": session, "key": key, "created_at": created, "updated_at": changed}
    return known, value


def _rows(db: Database, size: str) -> Iterator[tuple[Any, ...]]:
    """(id, folder, changed, size, row, created) of every row, in the order of rows."""
    table = _table(db)
    db.require({table: _NEEDS[table]})
    there = db.columns(table)
    name = text_of("conversation_id") if table == TABLE else text_of(_OLD_ID)
    changed, created = (
        column if column in there else "NULL" for column in ("updated_at", "created_at")
    )
    columns = f"{name}, {text_of('key')}, {changed}, {size}, rowid, {created}"
    for found, key, *rest in db.rows(f"SELECT {columns} FROM {table} ORDER BY rowid"):
        folder = as_text(readable(key))
        yield as_text(readable(found)) or _name_of(folder), folder, *rest


def _table(db: Database) -> str:
    for table in (TABLE, OLD_TABLE):
        if db.columns(table):
            return table
    raise UnfitFile(f"it has no table {TABLE}")


def _name_of(folder: str) -> str:
    """For a conversation without an id: the older client kept one per folder."""
    digest = blake2b(folder.encode("utf-8", "surrogateescape"), digest_size=8).hexdigest()
    return f"folder-{digest}"
