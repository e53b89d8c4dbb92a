"""Kiro CLI's sessions: finds them in its folder of line logs and in its database, and reads them.

One conversation may stand in both. Then the one that was changed last counts, and the other only
stands in for it; of two that are equally new, the row, which has times.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

import msgspec

from session_memory.adapters.common import (
    IsKnown,
    SourceFile,
    as_list,
    as_object,
    as_text,
    decode_record,
    parse_time,
    read_lines,
    recover_records,
    source_at,
    walk_files,
)
from session_memory.adapters.kiro import AGENT
from session_memory.adapters.kiro.entries import emit, is_entry, is_line
from session_memory.adapters.kiro.rows import list_sessions, newest_row
from session_memory.adapters.packed import unpacked_name
from session_memory.adapters.sqlite_log import (
    Database,
    database_sources,
    session_lines,
)
from session_memory.adapters.whole_log import (
    Line,
    array_lines,
    made_lines_adapter,
    side_object,
    with_sides,
)
from session_memory.core.hashing import blake2b
from session_memory.errors import AdapterError

DATABASE = "data.sqlite3"
LOGS = os.path.join("sessions", "cli")


def discover(root: str, is_known: IsKnown | None = None) -> Iterator[SourceFile]:
    """Every session below a folder of the client's; with `is_known`, also the database."""
    database = os.path.join(root, DATABASE)
    logs = os.path.join(root, LOGS)
    if os.path.lexists(database):
        yield from _stored(database, _logged_times(root), is_known)
    stored = _stored_times(root)
    for file in walk_files(logs, ".jsonl") if os.path.isdir(logs) else _logs_in(root):
        source = with_sides(file, [_about(file.path)])
        older = bool(stored) and stored.get(_id_of(file.path), 0) >= _changed_at(source)
        yield _marked(source, older=older)


def _logs_in(root: str) -> Iterator[SourceFile]:
    """Logs directly in a folder that the user named."""
    try:
        paths = sorted(entry.path for entry in os.scandir(root) if entry.name.endswith(".jsonl"))
    except OSError:
        return
    yield from (file for file in map(source_at, paths) if file is not None)


def _stored(
    database: str, logged: dict[str, int], is_known: IsKnown | None
) -> Iterator[SourceFile]:
    """The rows of a database; what is known of it changes with the logs of the same sessions."""

    def with_logs(whole: SourceFile) -> SourceFile:
        seen = blake2b(repr((whole.ctime_ns, sorted(logged.items()))).encode(), digest_size=8)
        mark = int.from_bytes(seen.digest(), "big") >> 1
        return msgspec.structs.replace(whole, ctime_ns=mark)

    def is_same(whole: SourceFile) -> bool:
        return is_known is not None and is_known(with_logs(whole))

    for row in database_sources(database, {}, list_sessions, is_known and is_same):
        if row.is_container:
            yield with_logs(row)
        else:
            changed = logged.get(row.path.rpartition("#")[2], 0)
            yield _marked(row, older=changed * 1_000_000 > row.mtime_ns)


def _marked(file: SourceFile, *, older: bool) -> SourceFile:
    """A source under a stamp that also shows whether another store has newer text."""
    return msgspec.structs.replace(file, ctime_ns=file.ctime_ns // 2 * 2 + older)


def _is_older(file: SourceFile) -> bool:
    return file.ctime_ns % 2 == 1


# --- line logs ---


def _about(path: str) -> str:
    """The file next to a log that says more about its session."""
    return unpacked_name(path).removesuffix(".jsonl") + ".json"


def _id_of(path: str) -> str:
    """A session's own id; the name of its file may be another."""
    return as_text(side_object(_about(path)).get("session_id")) or _stem(path)


def _stem(path: str) -> str:
    return unpacked_name(os.path.basename(path)).removesuffix(".jsonl")


def _changed_at(file: SourceFile) -> int:
    stated = parse_time(side_object(_about(file.path)).get("updated_at"))
    return stated if stated is not None else file.mtime_ns // 1_000_000


def _logged_times(root: str) -> dict[str, int]:
    """When the sessions with a line log were changed, for those next to a database."""
    home = os.path.dirname(os.path.dirname(os.path.dirname(root)))
    times: dict[str, int] = {}
    for folder in (os.path.join(root, LOGS), os.path.join(home, ".kiro", LOGS)):
        if os.path.isdir(folder):
            for file in walk_files(folder, ".jsonl"):
                times[_id_of(file.path)] = _changed_at(file)
    return times


def _log_lines(file: SourceFile, cap: int) -> Iterator[Line]:
    about = side_object(_about(file.path))
    header = {"log": _stem(file.path), "about": about}
    yield msgspec.json.encode({**header, "changed": file.mtime_ns, "older": _is_older(file)})
    for block in read_lines(file.path, line_cap=cap):
        for _, line in block.lines:
            yield from _opened(line)
        yield from (None for _ in block.long_lines)
        if block.cut:
            raise AdapterError(block.cut)
        if block.tail and decode_record(block.tail[1]) is not None:
            yield from _opened(block.tail[1])  # a last line that is whole; another is not done yet


def _opened(line: bytes) -> Iterator[Line]:
    """A line as it stands; of a damaged one also the records in it that are whole.

    One that holds a whole conversation, as an exported one does, is given by entries.
    """
    record = decode_record(line)
    if record is None or not isinstance(record.get("history"), list):
        yield line
        if record is None:
            yield from (msgspec.json.encode(inner) for _, inner in recover_records(line, is_line))
        return
    for entry in as_list(record.get("history")):
        yield msgspec.json.encode({"entry": entry})


# --- the database ---


def _stored_times(root: str) -> dict[str, int]:
    """When the sessions in a database were changed, for those with a line log next to it."""
    home = os.path.dirname(root)
    places = (
        root,
        os.path.join(home, ".local", "share", "kiro-cli"),
        os.path.join(home, "Library", "Application Support", "kiro-cli"),
    )
    times: dict[str, int] = {}
    for path in (os.path.join(place, DATABASE) for place in places):
        if os.path.lexists(path):
            for source in database_sources(path, {}, list_sessions):
                times[source.path.rpartition("#")[2]] = source.mtime_ns // 1_000_000
    return times


def lines(file: SourceFile, cap: int) -> Iterator[Line]:
    """What is known of the session, then its records."""
    if f"{DATABASE}#" not in file.path and not file.path.endswith(DATABASE):
        return _log_lines(file, cap)

    def rows(db: Database, session: str, cap: int) -> Iterator[Line]:
        header, value = newest_row(db, session, cap)
        whole = None if value is None else decode_record(value)
        stated = as_text((whole or {}).get("conversation_id")) or session
        yield msgspec.json.encode({**header, "conversation": stated, "older": _is_older(file)})
        if value is None:
            yield None
        elif whole is None:  # of a damaged one the entries that are whole
            yield from array_lines(value, "entry", is_entry)
        for entry in as_list((whole or {}).get("history")):
            yield msgspec.json.encode({"entry": as_object(entry)})

    return session_lines(file, {}, rows, cap, list_sessions)


ADAPTER = made_lines_adapter(
    AGENT, discover=discover, lines=lines, emit=emit, headings=1, discover_changed=discover
)
