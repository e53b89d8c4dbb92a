"""Databases in which other programs keep sessions: read without leaving a trace.

`read_database` gives one unchanging view of a database, whether or not its owner has it open.
`database_sources` and `sqlite_adapter` turn each session of a database into a source of its own, so
that a session that changed is read alone and one that was deleted takes nothing with it.

SQLite itself would open a write-ahead log for writing, create files next to the database, and need
a writable folder. So every file is opened through `_ReadOnlyFiles`, and where SQLite cannot read
under that rule (no `-shm` next to a `-wal`, a lock, an unfinished transaction), it reads a copy in
a private folder.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
import sys
import tempfile
import time
from collections.abc import Callable, Generator, Iterator, Mapping
from pathlib import Path
from typing import Any

import apsw
import msgspec

from session_memory.adapters.agent import Agent
from session_memory.adapters.common import Adapter, IsKnown, SourceFile, unreadable
from session_memory.adapters.whole_log import Emit, Line, made_lines_adapter
from session_memory.core.hashing import blake2b
from session_memory.plain_files import UnfitFile, open_plain

STEPS_MAX = 1_000_000_000
"""How many steps SQLite may take over one reading: some seconds, and fifty times what a database of
a gigabyte needs."""
STEPS_AT_ONCE = 1_000_000
BUSY_MS = 2000
"""How long a writer that checkpoints or recovers may keep us waiting."""
COPY_TRIES = 3
COPY_PREFIX = "session-memory-copy-"
COPY_AGE = 3600
"""Seconds after which no process is still making a copy."""
COPY_CAP = 8 * 1024**3
"""No database larger than this is copied."""
_HEADER = 100
_MAGIC = b"SQLite format 3\0"
_LOG_HEADER = 32
_SIDES = ("-wal", "-journal")

Needs = Mapping[str, tuple[str, ...]]
"""The tables a reader cannot do without, and their columns; none where it asks later."""
Rows = Iterator[tuple[Any, ...]]


class SessionRows(msgspec.Struct, frozen=True):
    """What a listing says of one session, without reading it."""

    id: str
    changed_at: int | None
    """When it was last changed, in milliseconds."""
    mark: tuple[object, ...]
    """Values that differ once anything of it changes: counts, newest changes, lengths."""
    size: int
    """About how many bytes it has."""


class Database:
    """One unchanging view of a database."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection

    def rows(self, query: str, *values: str | int | bytes) -> Rows:
        """The rows of a query."""
        cursor: Any = self._connection.cursor()
        return cursor.execute(query, values)

    def columns(self, table: str) -> frozenset[str]:
        """The columns of a table; none where there is no such table."""
        rows = self.rows("SELECT name FROM pragma_table_info(?)", table)
        return frozenset(name for (name,) in rows)

    def require(self, needs: Needs) -> None:
        """Refuse anything but tables of plain columns, with every column that is needed."""
        tables = {
            name: (kind, sql)
            for name, kind, sql in self.rows(
                "SELECT name, type, sql FROM sqlite_master WHERE type IN ('table', 'view')"
            )
        }
        for table, columns in needs.items():
            kind, sql = tables.get(table, ("", ""))
            if not kind:
                raise UnfitFile(f"it has no table {table}")
            virtual = isinstance(sql, str) and sql[:20].upper().startswith("CREATE VIRTUAL")
            hidden = self.rows("SELECT 1 FROM pragma_table_xinfo(?) WHERE hidden != 0", table)
            if kind != "table" or virtual or next(hidden, None):
                raise UnfitFile(f"{table} is not a plain table")
            if missing := sorted(set(columns) - self.columns(table)):
                raise UnfitFile(f"its table {table} has no column {', '.join(missing)}")


ListSessions = Callable[[Database], Iterator[SessionRows]]


def text_of(column: str) -> str:
    """SQL for a text as bytes: text that is no UTF-8 must not cost the rest of its session."""
    return f"CAST({column} AS BLOB)"


def capped(column: str) -> str:
    """SQL for a column as bytes, NULL where it has more than `?` of them: it never fills memory."""
    return f"CASE WHEN octet_length({column}) <= ? THEN CAST({column} AS BLOB) END"


def readable(value: Any) -> Any:
    """A value as JSON can hold it; bytes that are not UTF-8 are replaced."""
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value


# --- reading ---


@contextlib.contextmanager
def read_database(path: str, needs: Needs) -> Generator[Database]:
    """A view of a database that stays as it is while it is read.

    Raises UnfitFile where the file is no such database, and another OSError where a later attempt
    may succeed.
    """
    _check_file(path)
    try:
        with contextlib.closing(_connect(path)) as held:
            held.database.require(needs)
            yield held.database
            held.check()
    except apsw.InterruptError as error:
        raise UnfitFile(f"reading it takes more than {STEPS_MAX} steps of SQLite") from error
    except (apsw.NotADBError, apsw.CorruptError) as error:
        raise UnfitFile(f"the database is damaged: {error}") from error
    except (apsw.Error, UnicodeDecodeError) as error:
        raise OSError(f"{type(error).__name__}: {error}; the next sweep tries again") from error


class _Held:
    """An open connection, and what has to be done when it closes."""

    def __init__(self, connection: apsw.Connection, check: Callable[[], None]) -> None:
        self._connection = connection
        self.check = check
        self.database = Database(connection)

    def close(self) -> None:
        self._connection.close()


def _connect(path: str) -> _Held:
    """Open a database where it lies, or a copy of it where that cannot be."""
    if not _in_use(path):
        return _open_unused(path)
    try:
        return _open_shared(path)
    except (apsw.CantOpenError, apsw.BusyError, apsw.LockedError, apsw.ReadOnlyError, apsw.IOError):
        return _open_copy(path)


def _open_unused(path: str) -> _Held:
    """A database no process has open: read without locks, and used only if it did not change."""
    before = _touched(path)

    def check() -> None:
        if _touched(path) != before:  # one page may be older than the change, the next newer
            raise OSError("it changed while it was read; the next sweep reads it again")

    return _Held(_begin(_uri(path, "mode=ro&immutable=1"), _files()), check)


def _open_shared(path: str) -> _Held:
    """A database whose owner may be writing: SQLite keeps our view apart from what comes later."""
    return _Held(_begin(_uri(path, "mode=ro&readonly_shm=1"), _files()), _nothing)


def _open_copy(path: str) -> _Held:
    """A copy in a private folder, which is gone as soon as it is open."""
    _remove_old_copies()
    folder = tempfile.mkdtemp(prefix=COPY_PREFIX)
    try:
        copied = _copy(path, folder)
        # No other program knows of the copy, so it needs no file of shared memory.
        connection = _begin(_uri(copied, "mode=rw"), None, "PRAGMA locking_mode = EXCLUSIVE")
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    if os.name == "posix":  # open files outlive their names, even where we are killed
        shutil.rmtree(folder, ignore_errors=True)
        return _Held(connection, _nothing)
    return _Copied(connection, folder)


def _remove_old_copies() -> None:
    """Remove what a process left behind that was killed while it copied."""
    above = tempfile.gettempdir()
    for name in os.listdir(above):
        path = os.path.join(above, name)
        with contextlib.suppress(OSError):
            if name.startswith(COPY_PREFIX) and os.stat(path).st_mtime < time.time() - COPY_AGE:
                shutil.rmtree(path)


class _Copied(_Held):
    def __init__(self, connection: apsw.Connection, folder: str) -> None:
        super().__init__(connection, _nothing)
        self._folder = folder

    def close(self) -> None:
        super().close()
        shutil.rmtree(self._folder, ignore_errors=True)


def _copy(path: str, folder: str) -> str:
    """Copy a database with its log or journal, all from one moment."""
    target = os.path.join(folder, "copy.db")
    for _ in range(COPY_TRIES):
        before = _touched(path)
        if sum(size for size, *_ in before) > COPY_CAP:
            raise UnfitFile(f"it is in use and larger than {COPY_CAP} bytes")
        for side in ("-journal", "-wal", ""):  # the log first: it grows until it is written back
            with contextlib.suppress(FileNotFoundError):
                os.remove(target + side)
            try:
                with open_plain(path + side) as source, open(target + side, "wb") as copy:
                    shutil.copyfileobj(source, copy, 1024 * 1024)
            except FileNotFoundError:
                if not side:
                    raise
        if _touched(path) == before:
            return target
    raise OSError("it is being written; the next sweep reads it")


def _begin(uri: str, vfs: str | None, *first: str) -> apsw.Connection:
    """A connection that has begun to read and trusts nothing in the file."""
    flags = apsw.SQLITE_OPEN_URI | (
        apsw.SQLITE_OPEN_READONLY if vfs else apsw.SQLITE_OPEN_READWRITE
    )
    db = apsw.Connection(uri, flags=flags, vfs=vfs)
    try:
        db.set_busy_timeout(BUSY_MS)
        for setting, wanted in _DISTRUST:
            db.config(setting, wanted)
        _limit_steps(db)
        for statement in (*first, "BEGIN", "SELECT count(*) FROM sqlite_master"):
            list(Database(db).rows(statement))
    except BaseException:
        db.close()
        raise
    return db


_DISTRUST = (
    (apsw.SQLITE_DBCONFIG_DEFENSIVE, 1),
    (apsw.SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0),
    (apsw.SQLITE_DBCONFIG_ENABLE_VIEW, 0),
    (apsw.SQLITE_DBCONFIG_ENABLE_TRIGGER, 0),
    (apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1),
)
"""The file may be anybody's: its schema runs no code, and closing it writes nothing back."""


def _limit_steps(db: apsw.Connection) -> None:
    left = STEPS_MAX // STEPS_AT_ONCE

    def is_too_much() -> bool:
        nonlocal left
        left -= 1
        return left < 0

    db.set_progress_handler(is_too_much, STEPS_AT_ONCE)


class _ReadOnlyFiles(apsw.VFS):
    """The files of the system, none of which can be created, written or removed."""

    NAME = "session-memory-read-only"

    def __init__(self) -> None:
        # Not SQLite's default: there our store may have put its layer of checksums, which must not
        # judge databases of others.
        super().__init__(self.NAME, base="win32" if sys.platform == "win32" else "unix")

    def xOpen(self, name: Any, flags: list[int]) -> Any:  # noqa: N802 - SQLite's name
        if name is not None:  # files without a name are SQLite's own, for large sorts
            flags[0] = flags[0] & ~_WRITING | apsw.SQLITE_OPEN_READONLY
        return super().xOpen(name, flags)

    def xDelete(self, filename: str, syncdir: bool) -> None:  # noqa: N802
        raise apsw.ReadOnlyError(filename)


_WRITING = apsw.SQLITE_OPEN_CREATE | apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_DELETEONCLOSE
_registered: list[_ReadOnlyFiles] = []


def _files() -> str:
    """The name under which SQLite knows the read-only files."""
    if not _registered:
        _registered.append(_ReadOnlyFiles())
    return _ReadOnlyFiles.NAME


def _uri(path: str, options: str) -> str:
    # SQLite answers "not an error" for a path with a linked folder in it, which apsw takes for one.
    folder, name = os.path.split(os.path.abspath(path))
    return f"{(Path(os.path.realpath(folder)) / name).as_uri()}?{options}"


def _nothing() -> None:
    """The check of a view that cannot have changed."""


# --- what is accepted ---


def _check_file(path: str) -> None:
    """Refuse what is no database, and a pipe or device in its place: SQLite would wait for it."""
    for side in (*_SIDES, "-shm"):
        with contextlib.suppress(FileNotFoundError):
            if not stat.S_ISREG(os.stat(path + side).st_mode):
                raise UnfitFile(f"{os.path.basename(path + side)} is not a regular file")
    with open_plain(path) as file:
        head = file.read(_HEADER)
        size = os.fstat(file.fileno()).st_size
    if not head:
        raise UnfitFile("the file is empty")
    if len(head) < _HEADER or not head.startswith(_MAGIC):
        raise UnfitFile("it is not a SQLite database")
    if not _in_use(path) and size < _stated_size(head):
        # SQLite would read zeros in the place of what is missing, and so other rows.
        raise UnfitFile("the database is damaged: its end is missing")


def _stated_size(head: bytes) -> int:
    """How large a database says that it is; 0 where an old program left the figure behind."""
    page = int.from_bytes(head[16:18], "big")
    if head[24:28] != head[92:96]:
        return 0
    return (65536 if page == 1 else page) * int.from_bytes(head[28:32], "big")


def _in_use(path: str) -> bool:
    """Whether there is a log or a journal, so that the file alone does not say what it holds."""
    return any(os.path.exists(path + side) for side in _SIDES)


# --- databases and their sessions as sources ---


def database_source(path: str) -> SourceFile:
    """A database as a whole, under a stamp that stays equal as long as nothing is written to it.

    Besides sizes and times it holds SQLite's own counter of changes and the mark of its log. That
    costs no more than two small reads.
    """
    info = os.stat(path)
    seen = repr(_touched(path)).encode() + _head(path, _HEADER) + _head(path + "-wal", _LOG_HEADER)
    mark = int.from_bytes(blake2b(seen, digest_size=8).digest(), "big") >> 1
    return SourceFile(path, info.st_size, info.st_mtime_ns, mark, info.st_dev, info.st_ino)


def database_sources(
    path: str,
    needs: Needs,
    list_sessions: ListSessions,
    is_known: IsKnown | None = None,
) -> Iterator[SourceFile]:
    """One source per session, called `PATH#ID`; a database that cannot be read, without a size.

    With `is_known`, nothing of a known database; any other one follows its sessions as a source.
    """
    try:
        whole = msgspec.structs.replace(database_source(path), is_container=True)
        if is_known is not None and is_known(whole):
            return
        with read_database(path, needs) as db:
            sessions = list(list_sessions(db))
    except FileNotFoundError:
        return
    except OSError:
        yield unreadable(path)
        return
    for session in sessions:
        seen = blake2b(
            repr((session.id, session.mark)).encode("utf-8", "replace"), digest_size=8
        ).digest()
        yield SourceFile(
            path=f"{path}#{session.id}",
            size=session.size,
            mtime_ns=(session.changed_at or 0) * 1_000_000,
            ctime_ns=int.from_bytes(seen, "big") >> 1,
            device=whole.device,
            inode=whole.inode,
        )
    if is_known is not None:
        yield whole


def session_lines(
    file: SourceFile,
    needs: Needs,
    lines: Callable[[Database, str, int], Iterator[Line]],
    cap: int,
    list_sessions: ListSessions = lambda _db: iter(()),
) -> Iterator[Line]:
    """The lines of one session; where its database could not be listed, the error says why."""
    path, mark, session = file.path.rpartition("#")
    if not mark or file.size < 0:
        with read_database(file.path, needs) as db:
            list(list_sessions(db))
        raise OSError("it could not be read a moment ago; the next sweep reads it")
    with read_database(path, needs) as db:
        yield from lines(db, session, cap)


def sqlite_adapter(
    agent: Agent,
    *,
    find: Callable[[str], Iterator[str]],
    needs: Needs,
    list_sessions: ListSessions,
    lines: Callable[[Database, str, int], Iterator[Line]],
    emit: Emit,
) -> Adapter:
    """The adapter of an agent that keeps all of its sessions in databases.

    `find` names the databases below a home, `lines` gives one session of a database as JSON lines,
    with None for each that is over the cap.
    """

    def discover(root: str, is_known: IsKnown | None = None) -> Iterator[SourceFile]:
        for path in find(root):
            yield from database_sources(path, needs, list_sessions, is_known)

    return made_lines_adapter(
        agent,
        discover=discover,
        lines=lambda file, cap: session_lines(file, needs, lines, cap, list_sessions),
        emit=emit,
        discover_changed=discover,
    )


# --- what a file looks like from outside ---


def _touched(path: str) -> list[tuple[int, int, int]]:
    """Size, times and node of a database, its log and its journal; zeros where there is none."""
    return [_stat(path + side) for side in ("", *_SIDES)]


def _stat(path: str) -> tuple[int, int, int]:
    try:
        info = os.stat(path)
    except FileNotFoundError:
        return 0, 0, 0
    return info.st_size, info.st_mtime_ns, info.st_ino


def _head(path: str, length: int) -> bytes:
    try:
        with open_plain(path) as file:
            return file.read(length)
    except FileNotFoundError:
        return b""
