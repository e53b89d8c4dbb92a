"""OpenCode's SQLite database: which sessions it holds, and one session's rows as JSON lines."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from session_memory.adapters.common import IsKnown, Json, SourceFile, parse_time
from session_memory.adapters.sqlite_log import (
    Database,
    SessionRows,
    capped,
    database_sources,
    readable,
    session_lines,
    text_of,
)
from session_memory.adapters.whole_log import Line

NEEDS = {
    "session": ("id", "time_updated"),
    "message": ("id", "session_id", "time_created", "time_updated", "data"),
    "part": ("id", "message_id", "session_id", "time_updated", "data"),
}

_FIELDS = {
    "id": "id",
    "parent_id": "parentID",
    "directory": "directory",
    "title": "title",
    "version": "version",
    "agent": "agent",
    "permission": "permission",
    "revert": "revert",
}
"""Columns of `session` and what the same thing is called in OpenCode's JSON."""
_JSON = frozenset(("permission", "revert"))
_TIMES = ("time_created", "time_updated")
_NEWER = "session_message"
"""A table newer clients are about to use; its rows are counted, so that it is seen when they do."""


class _Held(msgspec.Struct):
    """What a database holds of one session, without reading it."""

    row_stats: list[object] = []
    """Count, newest change and bytes of each of its tables."""
    size: int = 0
    newer: int = 0


def sessions(path: str, is_known: IsKnown | None = None) -> Iterator[SourceFile]:
    """One source per session of a database; one that cannot be read is given without a size.

    The file's own time says nothing about a session, so its stamp comes from its rows.
    """
    return database_sources(path, NEEDS, _listed, is_known)


def _listed(db: Database) -> Iterator[SessionRows]:
    held = _measured(db)
    for row in _session_rows(db):
        stored = held.get(row["id"], _Held())
        own = _session_line(row, stored.newer)
        changed = parse_time(row.get("time_updated"))
        mark = (own, *stored.row_stats)
        yield SessionRows(row["id"], changed, mark, len(own) + 1 + stored.size)


def _measured(db: Database) -> dict[str, _Held]:
    """By session; `size` counts the lines of its messages and parts as `lines` gives them."""
    by_session: dict[str, _Held] = {}
    for kind, more in (("message", len(END) + 2), ("part", 1)):
        frame = len(record(kind, "", b"")) + more
        line = f"coalesce(octet_length(data), 0) + octet_length(id) + {frame}"
        query = f"SELECT session_id, count(*), max(time_updated), sum({line}) FROM {kind}"
        for session, *row_stats in db.rows(query + " GROUP BY session_id"):
            held = by_session.setdefault(session, _Held())
            held.row_stats += row_stats
            held.size += row_stats[-1]
    for session, count in _newer_rows(db):
        by_session.setdefault(session, _Held()).newer = count
    return by_session


def lines(file: SourceFile, cap: int) -> Iterator[Line]:
    """A session's own record, then each message with its parts, and where the message ends."""
    return session_lines(file, NEEDS, _lines, cap, _listed)


def _lines(db: Database, session: str, cap: int) -> Iterator[Line]:
    rows = list(_session_rows(db, "WHERE id = ?", session))
    if not rows:
        raise FileNotFoundError(f"{session} is no longer in it")
    yield _session_line(rows[0], dict(_newer_rows(db)).get(session, 0))
    data = capped("data")
    query = f"SELECT id, {data} FROM message WHERE session_id = ? ORDER BY time_created, id"
    for message, text in list(db.rows(query, cap, session)):
        yield _capped("message", message, text)
        query = f"SELECT id, {data} FROM part WHERE message_id = ? ORDER BY id"
        for part, inner in db.rows(query, cap, message):
            yield _capped("part", part, inner)
        yield END


END = b'{"end":true}'
"""The line behind the last part of a message."""


def record(kind: str, name: str, data: bytes) -> bytes:
    """One line: what it is, its id, and its JSON as it stands, damaged or not."""
    return b'{"id":%b,"%b":%b}' % (msgspec.json.encode(name), kind.encode(), data)


def _capped(kind: str, name: str, data: bytes | None) -> Line:
    return None if data is None else record(kind, name, data)


def _session_line(row: dict[str, Any], newer: int) -> bytes:
    """A session row in the shape of OpenCode's own JSON."""
    info: dict[str, Json] = {
        name: _decoded(row[column]) if column in _JSON else row[column]
        for column, name in _FIELDS.items()
        if row.get(column) is not None
    }
    info["time"] = {"created": row.get("time_created"), "updated": row.get("time_updated")}
    if newer:
        info["newer_rows"] = newer
    return record("session", row["id"], msgspec.json.encode(info))


def _decoded(text: Json) -> Json:
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, TypeError):
        return None


def _newer_rows(db: Database) -> Iterator[tuple[Any, ...]]:
    if not db.columns(_NEWER):
        return iter(())
    db.require({_NEWER: ("session_id",)})
    return db.rows(f"SELECT session_id, count(*) FROM {_NEWER} GROUP BY session_id")


def _session_rows(db: Database, where: str = "", *values: str) -> Iterator[dict[str, Any]]:
    """Rows of `session`, of the columns this client has; texts in whatever bytes are readable."""
    there = db.columns("session")
    names = [name for name in (*_FIELDS, *_TIMES) if name in there]
    columns = (name if name in _TIMES else text_of(name) for name in names)
    for row in db.rows(f"SELECT {', '.join(columns)} FROM session {where}", *values):
        yield dict(zip(names, map(readable, row), strict=True))
