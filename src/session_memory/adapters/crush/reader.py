"""Crush's sessions: finds the databases of all projects and reads their rows.

Each project has its own, `.crush/crush.db`; the client's data folder lists the projects. Versions
of edited files are in the database too; they are large, and not read.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

import msgspec

from session_memory.adapters.common import (
    IsKnown,
    Json,
    SourceFile,
    as_list,
    as_object,
    as_text,
    parse_time,
    unreadable,
    walk_files,
)
from session_memory.adapters.crush import AGENT
from session_memory.adapters.crush.messages import emit
from session_memory.adapters.sqlite_log import (
    Database,
    SessionRows,
    capped,
    database_sources,
    readable,
    session_lines,
    text_of,
)
from session_memory.adapters.whole_log import Line, made_lines_adapter, side_file
from session_memory.plain_files import UnfitFile

DATABASE = "crush.db"
FOLDER = ".crush"
PROJECTS = "projects.json"
NEEDS = {
    "sessions": ("id", "title", "created_at", "updated_at"),
    "messages": ("id", "session_id", "role", "parts", "created_at", "updated_at"),
}
_SESSION = ("id", "parent_session_id", "title", "summary_message_id")
_SESSION_NUMBERS = ("cost", "created_at", "updated_at")
_MESSAGE = ("id", "role", "model", "provider")
_MESSAGE_NUMBERS = ("created_at", "updated_at", "finished_at", "is_summary_message")
_SKIP = frozenset({"node_modules", ".git"})


def discover(root: str, is_known: IsKnown | None = None) -> Iterator[SourceFile]:
    """The sessions of all projects that the client lists, or of those below a folder."""
    listing = os.path.join(root, PROJECTS)
    if os.path.exists(listing):
        folders = listed_projects(listing)
        if folders is None:
            yield unreadable(listing)
        databases = [os.path.join(folder, DATABASE) for folder in (root, *(folders or ()))]
    else:
        databases = [file.path for file in walk_files(root, DATABASE, skip_dirs=_SKIP)]
    for path in dict.fromkeys(databases):
        if os.path.basename(path) == DATABASE and os.path.lexists(path):
            yield from database_sources(path, NEEDS, list_sessions, is_known)


def listed_projects(listing: str) -> list[str] | None:
    """The data folders that the client's list names; None where it has no known form."""
    try:
        value: Json = msgspec.json.decode(side_file(listing) or b"")
    except (msgspec.DecodeError, RecursionError):
        return None
    projects = as_object(value).get("projects", value)
    if not isinstance(projects, list):
        return None
    folders: list[str] = []
    for project in map(as_object, as_list(projects)):
        path = as_text(project.get("path"))
        if os.path.isabs(path):
            folders.append(os.path.join(path, as_text(project.get("data_dir")) or FOLDER))
    return folders


def list_sessions(db: Database) -> Iterator[SessionRows]:
    """Every session, with what changes when its rows do; all of Crush's times are seconds."""
    held = {
        readable(session): tuple(row_stats)
        for session, *row_stats in db.rows(
            f"SELECT {text_of('session_id')}, count(*), sum(updated_at), max(rowid),"
            " sum(octet_length(parts)) FROM messages GROUP BY session_id"
        )
    }
    for row in _rows_of(db, "sessions", _SESSION, _SESSION_NUMBERS):
        name = as_text(row["id"])
        row_stats = held.get(name, ())
        size = row_stats[-1] if row_stats and isinstance(row_stats[-1], int) else 0
        mark = (*row.values(), *row_stats)
        yield SessionRows(name, parse_time(row.get("updated_at")), mark, size)


def lines(file: SourceFile, cap: int) -> Iterator[Line]:
    """A session's own row, then its messages."""
    if os.path.basename(file.path) == PROJECTS:
        raise UnfitFile("it lists no projects in a form that is known")
    folder = os.path.dirname(file.path.rpartition("#")[0])
    project = os.path.dirname(folder) if os.path.basename(folder) == FOLDER else ""

    def rows(db: Database, session: str, cap: int) -> Iterator[Line]:
        session_rows = _rows_of(db, "sessions", _SESSION, _SESSION_NUMBERS, session)
        own = next(session_rows, None)
        if own is None:
            raise FileNotFoundError(f"session {session} is no longer in it")
        yield msgspec.json.encode({"session": own, "project": project})
        yield from _message_lines(db, session, cap)

    return session_lines(file, NEEDS, rows, cap, list_sessions)


def _message_lines(db: Database, session: str, cap: int) -> Iterator[Line]:
    there = db.columns("messages")
    texts = [name for name in _MESSAGE if name in there]
    names = [*texts, *(name for name in _MESSAGE_NUMBERS if name in there)]
    columns = ", ".join(text_of(name) if name in texts else name for name in names)
    # Many messages share a second: the row numbers give their order.
    order = "seq, rowid" if "seq" in there else "created_at, rowid"
    query = f"SELECT {columns}, {capped('parts')} FROM messages WHERE session_id = ?"
    for *values, parts in db.rows(f"{query} ORDER BY {order}", cap, session):
        message = dict(zip(names, map(readable, values), strict=True))
        head = msgspec.json.encode(message)
        # The parts as they stand: where they are damaged, this line is, and it is counted.
        yield None if parts is None else b'{"message":%b,"parts":%b}' % (head, parts)


def _rows_of(
    db: Database, table: str, texts: tuple[str, ...], numbers: tuple[str, ...], name: str = ""
) -> Iterator[dict[str, Json]]:
    """Rows of a table by column, of those columns that this version of the client has."""
    there = db.columns(table)
    names = [column for column in (*texts, *numbers) if column in there]
    columns = ", ".join(text_of(column) if column in texts else column for column in names)
    where, values = ("WHERE id = ?", (name,)) if name else ("", ())
    for row in db.rows(f"SELECT {columns} FROM {table} {where}", *values):
        yield dict(zip(names, map(readable, row), strict=True))


ADAPTER = made_lines_adapter(
    AGENT, discover=discover, lines=lines, emit=emit, discover_changed=discover
)
