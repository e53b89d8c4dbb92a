"""OpenCode's SQLite database: which sessions it holds, and one session's rows as JSON lines.

The client may write at any moment. Where it has the database open there is a write-ahead log, and
we read beside it as SQLite means it; where there is none we read without locks, because opening
the log would leave files in a folder that is not ours.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import apsw
import msgspec

from session_memory.adapters.common import Json, SourceFile, parse_time
from session_memory.core.hashing import blake2b
from session_memory.plain_files import UnfitFile

STEPS_MAX = 1_000_000_000
"""How many steps SQLite may take over one reading: some seconds, and fifty times what a database of
a gigabyte needs."""
STEPS_AT_ONCE = 1_000_000
TABLES = ("session", "message", "part")
BUSY_MS = 2000
"""How long a writer that checkpoints or recovers may keep us waiting."""

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

Line = bytes | None
"""A record as JSON, or None for one over the cap."""


class _Held(msgspec.Struct):
    """What a database holds of one session, without reading it."""

    told: list[object] = []
    """Count, newest change and bytes of each of its tables."""
    size: int = 0
    newer: int = 0


def sessions(path: str) -> Iterator[SourceFile]:
    """One source per session of a database; one that cannot be read is given without a size.

    The file's own time says nothing about a session, so its stamp comes from its rows.
    """
    try:
        info = os.stat(path)
        with _reading(path) as db:
            held = _measured(db)
            rows = list(_session_rows(db))
    except OSError:
        yield SourceFile(path, -1, 0, 0, 0, 0)
        return
    for row in rows:
        yield _source(path, info, row, held.get(row["id"], _Held()))


def _measured(db: apsw.Connection) -> dict[str, _Held]:
    """By session; `size` counts the lines of its messages and parts as `lines` gives them."""
    found: dict[str, _Held] = {}
    for kind, more in (("message", len(END) + 2), ("part", 1)):
        frame = len(record(kind, "", b"")) + more
        line = f"coalesce(octet_length(data), 0) + octet_length(id) + {frame}"
        query = f"SELECT session_id, count(*), max(time_updated), sum({line}) FROM {kind}"
        for session, *told in _rows(db, query + " GROUP BY session_id"):
            held = found.setdefault(session, _Held())
            held.told += told
            held.size += told[-1]
    for session, count in _newer_rows(db):
        found.setdefault(session, _Held()).newer = count
    return found


def _source(path: str, info: os.stat_result, row: dict[str, Any], held: _Held) -> SourceFile:
    own = _session_line(row, held.newer)
    seen = blake2b(own + repr(held.told).encode("utf-8", "replace"), digest_size=8).digest()
    return SourceFile(
        path=f"{path}#{row['id']}",
        size=len(own) + 1 + held.size,
        mtime_ns=(parse_time(row.get("time_updated")) or 0) * 1_000_000,
        ctime_ns=int.from_bytes(seen, "big") >> 1,
        device=info.st_dev,
        inode=info.st_ino,
    )


def explain(path: str) -> Iterator[Line]:
    """Read a database that discovery could not, for the reason."""
    with _reading(path) as db:
        _measured(db)
    raise OSError("it could not be read a moment ago; the next sweep reads it")


def lines(path: str, session: str, cap: int) -> Iterator[Line]:
    """A session's own record, then each message with its parts, and where the message ends."""
    with _reading(path) as db:
        found = list(_session_rows(db, "WHERE id = ?", session))
        if not found:
            raise FileNotFoundError(f"{session} is no longer in {path}")
        yield _session_line(found[0], dict(_newer_rows(db)).get(session, 0))
        query = f"SELECT id, {_CAPPED} FROM message WHERE session_id = ? ORDER BY time_created, id"
        for message, data in list(_rows(db, query, cap, session)):
            yield _capped("message", message, data)
            query = f"SELECT id, {_CAPPED} FROM part WHERE message_id = ? ORDER BY id"
            for part, inner in _rows(db, query, cap, message):
                yield _capped("part", part, inner)
            yield END


END = b'{"end":true}'
"""The line behind the last part of a message."""
_CAPPED = "CASE WHEN octet_length(data) <= ? THEN CAST(data AS BLOB) END"
"""The data, or NULL where it is over the cap, so that it never fills memory; as bytes, because text
that is no UTF-8 must not cost the rest of its session."""


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


def _newer_rows(db: apsw.Connection) -> Iterator[tuple[Any, ...]]:
    if not list(_rows(db, "SELECT 1 FROM sqlite_master WHERE name = ?", _NEWER)):
        return iter(())
    return _rows(db, f"SELECT session_id, count(*) FROM {_NEWER} GROUP BY session_id")


def _session_rows(db: apsw.Connection, where: str = "", *values: str) -> Iterator[dict[str, Any]]:
    """Rows of `session`, of the columns this client has; texts in whatever bytes are readable."""
    there = [name for (name,) in _rows(db, "SELECT name FROM pragma_table_info('session')")]
    names = [name for name in (*_FIELDS, *_TIMES) if name in there]
    columns = (name if name in _TIMES else f"CAST({name} AS BLOB)" for name in names)
    for row in _rows(db, f"SELECT {', '.join(columns)} FROM session {where}", *values):
        yield {name: _readable(value) for name, value in zip(names, row, strict=True)}


def _readable(value: Any) -> Any:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value


def _rows(db: apsw.Connection, query: str, *values: str | int) -> Iterator[tuple[Any, ...]]:
    cursor: Any = db.cursor()
    return cursor.execute(query, values)


@contextmanager
def _reading(path: str) -> Generator[apsw.Connection]:
    """A connection that cannot write, over one unchanging view of the database."""
    for end in ("", *_BESIDE):
        _check_regular(path + end, missing=bool(end))
    unused = not any(os.path.exists(path + end) for end in ("-wal", "-journal"))
    before = _touched(path)
    uri = Path(path).absolute().as_uri() + "?mode=ro" + ("&immutable=1" if unused else "")
    try:
        flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
        db = apsw.Connection(uri, flags=flags)
        try:
            db.set_busy_timeout(BUSY_MS)
            _distrust(db)
            next(_rows(db, "BEGIN"), None)
            _check_tables(db)
            yield db
        finally:
            db.close()
    except apsw.InterruptError as error:
        raise OSError(f"reading it takes more than {STEPS_MAX} steps of SQLite") from error
    except (apsw.Error, UnicodeDecodeError) as error:
        raise OSError(f"{type(error).__name__}: {error}") from error
    if unused and _touched(path) != before:
        # Without locks a page may have been from before and the next from after a change.
        raise OSError("changed while it was read; the next sweep reads it again")


def _touched(path: str) -> tuple[int, int]:
    info = os.stat(path)
    return info.st_size, info.st_mtime_ns


_BESIDE = ("-wal", "-shm", "-journal")


def _check_regular(path: str, *, missing: bool) -> None:
    """Refuse a pipe or device in the place of a file: SQLite would wait for it."""
    try:
        mode = os.stat(path).st_mode
    except FileNotFoundError:
        if missing:
            return
        raise
    if not stat.S_ISREG(mode):
        raise UnfitFile("not a regular file")


def _distrust(db: apsw.Connection) -> None:
    """The file may be anybody's: its schema runs no code, and nothing in it takes for ever."""
    for setting, wanted in (
        (apsw.SQLITE_DBCONFIG_DEFENSIVE, 1),
        (apsw.SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0),
        (apsw.SQLITE_DBCONFIG_ENABLE_VIEW, 0),
        (apsw.SQLITE_DBCONFIG_ENABLE_TRIGGER, 0),
    ):
        db.config(setting, wanted)
    left = STEPS_MAX // STEPS_AT_ONCE

    def is_too_much() -> bool:
        nonlocal left
        left -= 1
        return left < 0

    db.set_progress_handler(is_too_much, STEPS_AT_ONCE)


def _check_tables(db: apsw.Connection) -> None:
    """Refuse anything but tables of plain columns under the names that are read."""
    found = _rows(db, "SELECT name, type, sql FROM sqlite_master WHERE type IN ('table', 'view')")
    for name, kind, sql in found:
        if name not in (*TABLES, _NEWER):
            continue
        virtual = isinstance(sql, str) and sql[:20].upper().startswith("CREATE VIRTUAL")
        if kind != "table" or virtual or _has_computed_columns(db, name):
            raise OSError(f"{name} is not a plain table")


def _has_computed_columns(db: apsw.Connection, table: str) -> bool:
    query = "SELECT 1 FROM pragma_table_xinfo(?) WHERE hidden != 0"
    return next(_rows(db, query, table), None) is not None
