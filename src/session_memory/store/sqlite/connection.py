"""Opening the database file: pragmas, schema version, migrations, transactions."""

from __future__ import annotations

import contextlib
import itertools
import os
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from typing import Any, Protocol, cast
from urllib.parse import quote

import apsw

from session_memory.atomic_files import flush_directory, make_directory
from session_memory.errors import (
    DatabaseDamaged,
    StoreDamaged,
    StoreError,
    StoreLocked,
    StoreTooNew,
)
from session_memory.store.damage import LOG_SUFFIXES, absent, refuse_no_file
from session_memory.store.failures import describe, is_damage
from session_memory.store.marks import Keys, random_keys
from session_memory.store.sqlite import checksums

BUSY_TIMEOUT_MS = 10_000
SCHEMA_VERSION = 24
PAGE_SIZE = 8192
_LOG_MAGIC = (b"\x37\x7f\x06\x82", b"\x37\x7f\x06\x83")

Row = tuple[Any, ...]


class Rows(Protocol):
    """The result of a statement."""

    def __iter__(self) -> Iterator[Row]: ...
    def fetchone(self) -> Any: ...
    def fetchall(self) -> list[Row]: ...


class Database(Protocol):
    """What we use of a connection; apsw's own annotations leave too much unknown."""

    @property
    def in_transaction(self) -> bool: ...
    def execute(self, statements: str, bindings: Any = ()) -> Rows: ...
    def executemany(self, statements: str, sequenceofbindings: Any) -> Rows: ...
    def last_insert_rowid(self) -> int: ...
    def changes(self) -> int: ...
    def pragma(self, name: str, value: Any = None) -> Any: ...
    def create_scalar_function(
        self, name: str, callable: Callable[..., Any], numargs: int
    ) -> None: ...
    def register_fts5_function(self, name: str, function: Callable[..., Any]) -> None: ...
    def close(self) -> None: ...


def connect(path: str, *, read_only: bool = False) -> Database:
    """Open a database that exists, with the pragmas every connection of ours has."""
    for suffix in ("", *LOG_SUFFIXES):
        refuse_no_file(path + suffix)
    if not (os.path.exists(path) and os.path.getsize(path)):
        raise absent(os.path.dirname(path))
    if _has_garbage_log(path + "-wal"):
        raise DatabaseDamaged(f"the log next to the database {path} is damaged")
    _look_at_checksums(path)
    try:
        connection = apsw.Connection(
            file_uri(path, _mode(path, read_only)),
            flags=_WRITING,
        )
        connection.set_busy_timeout(BUSY_TIMEOUT_MS)
        # Otherwise SQLite compiles a statement again for each value that is bound to it, to see
        # whether another plan suits the value better. We keep no statistics, so none ever does.
        connection.config(apsw.SQLITE_DBCONFIG_ENABLE_QPSG, 1)
        _prepare(cast("Database", connection), read_only)
    except (apsw.BusyError, apsw.LockedError):
        raise StoreLocked(f"{path} is in use by another process") from None
    except (*DAMAGE_ERRORS, *DISK_ERRORS) as error:
        if is_damage(error):
            raise damaged(error, path) from None
        raise StoreError(
            f"cannot open the database {path}: {error}",
            hint="check that you may read and write it, and that its disk is not full",
        ) from error
    return cast("Database", connection)


_WRITING = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_URI


def file_uri(path: str, parameters: str) -> str:
    """The file as SQLite takes it; a path may hold bytes that are not UTF-8."""
    return f"file:{quote(os.fsencode(os.path.abspath(path)))}?{parameters}"


def _start_of(path: str, length: int) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read(length)
    except OSError:
        return b""


def _has_garbage_log(path: str) -> bool:
    """Whether a write-ahead log begins with something else: SQLite would take it for empty.

    Zeros are what a power cut leaves of one that was never written.
    """
    head = _start_of(path, 32)
    return len(head) == 32 and any(head) and head[:4] not in _LOG_MAGIC


def _look_at_checksums(path: str) -> None:
    """Load what checks pages; refuse a database whose checksums were lost, or cannot be kept."""
    head = _start_of(path, checksums.HEAD_BYTES)
    if checksums.lost_in(head):
        raise DatabaseDamaged(f"the header of the database {path} is damaged")
    if not checksums.load() and checksums.are_in(head):
        raise StoreError(
            f"the database {path} has page checksums, and the installed apsw cannot keep them",
            hint="install apsw from its wheel: `pip install --force-reinstall apsw`",
        )


def _mode(path: str, read_only: bool) -> str:
    """How to open the file so that a reader sees every commit and leaves nothing behind.

    A reader needs the log next to the database; one that may write removes it again when it closes,
    and `query_only` keeps it from writing anything else.
    """
    writable = os.access(path, os.W_OK) and os.access(os.path.dirname(path) or ".", os.W_OK)
    if not read_only or (writable and not os.path.exists(path + "-wal")):
        return "mode=rw"
    # Where no process may write and there is no log, the file cannot change: only then say so.
    return "mode=ro" if writable or os.path.exists(path + "-wal") else "mode=ro&immutable=1"


def _prepare(connection: Database, read_only: bool) -> None:
    def pragma(name: str, setting: object) -> None:
        connection.execute(f"PRAGMA {name} = {setting}").fetchall()

    pragma("temp_store", "MEMORY")
    pragma("cache_size", -4_000 if read_only else -32_000)  # more does not make a reader faster
    if read_only:
        pragma("query_only", 1)
        return
    pragma("journal_mode", "wal")
    pragma("synchronous", "FULL")  # an eviction unlinks files after its commit: it must be on disk
    pragma("fullfsync", 1)  # macOS: also out of the drive's cache, with the texts flushed before
    pragma("foreign_keys", 1)
    pragma("secure_delete", 1)
    pragma("wal_autocheckpoint", 2000)
    pragma("journal_size_limit", 64 * 1024 * 1024)


def create(path: str, *, plain: bool = False) -> None:
    """Make an empty database file, private from its first byte, unless it is there already.

    Its pages have checksums where the installed apsw can keep them, unless it is to be `plain`.
    """
    directory = os.path.dirname(path)
    try:
        make_directory(directory)
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
        flush_directory(directory)  # SQLite flushes the name of its log, never that of the database
    except FileExistsError:
        pass
    except OSError as error:
        raise disk_error(error) from error
    if os.path.getsize(path) == 0:
        checksums.load()
        connection = apsw.Connection(file_uri(path, "mode=rw"), flags=_WRITING)
        connection.set_busy_timeout(BUSY_TIMEOUT_MS)
        # Before anything else: the next lines fix the layout of pages.
        checked = not plain and checksums.reserve(cast("Database", connection))
        # The vacuum mode can only be chosen before the first table.
        for setting in (f"page_size = {PAGE_SIZE}", "auto_vacuum = incremental"):
            cast("Database", connection).execute(f"PRAGMA {setting}").fetchall()
        cast("Database", connection).execute("PRAGMA journal_mode = wal").fetchall()
        if checked:
            cast("Database", connection).pragma("application_id", checksums.APPLICATION_ID)
        connection.close()


def copy_database(source: Database, path: str) -> None:
    """Copy a live database into a new file with SQLite's own online backup."""
    create(path, plain=not checksums.has_checksums(source))
    destination = apsw.Connection(file_uri(path, "mode=rw"), flags=_WRITING)
    with destination.backup("main", cast("apsw.Connection", source), "main") as process:
        while not process.done:
            process.step(1000)
    destination.close()


def migrate(
    connection: Database, now_ms: int, new_keys: Callable[[], Keys] = random_keys
) -> list[int]:
    """Apply pending migrations and return their numbers.

    A new database gets all of them in one transaction; one that holds rows, each in its own.
    """
    applied: list[int] = []
    check_version(connection)
    while (version := schema_version(connection)) < SCHEMA_VERSION:
        with transaction(connection):
            if schema_version(connection) != version:
                continue  # another process was quicker
            for number in range(version + 1, SCHEMA_VERSION + 1 if version == 0 else version + 2):
                _apply(connection, number, now_ms, new_keys)
                applied.append(number)
    return applied


def _apply(connection: Database, number: int, now_ms: int, new_keys: Callable[[], Keys]) -> None:
    """Apply one migration with its record."""
    connection.execute(_migration(number))
    if number == 1:
        connection.execute(
            "CREATE TABLE schema_migration (version INTEGER PRIMARY KEY, at INTEGER) STRICT"
        )
        new = new_keys()
        for name, key in (("fingerprint_key", new.fingerprint), ("tag_key", new.tag)):
            connection.execute("INSERT INTO meta VALUES (?, ?)", (name, key))
    connection.execute("INSERT INTO schema_migration VALUES (?, ?)", (number, now_ms))
    connection.pragma("user_version", number)


def _migration(number: int) -> str:
    folder = os.path.join(os.path.dirname(os.path.dirname(__file__)), "migrations")
    # Not Path.glob: it compiles an expression for each of them.
    for name in os.listdir(folder):
        if name.startswith(f"{number:04d}_"):
            with open(os.path.join(folder, name), encoding="utf-8") as file:
                return file.read()
    raise StoreDamaged(f"migration {number} is not in this installation")


def schema_version(connection: Database) -> int:
    """The version of the schema in the file."""
    return int(connection.pragma("user_version"))


def check_version(connection: Database) -> None:
    """Refuse a store that a newer program wrote; called at the start of every transaction."""
    version = schema_version(connection)
    if version > SCHEMA_VERSION:
        raise StoreTooNew(
            f"the store has schema {version}, this program knows up to {SCHEMA_VERSION}"
        )


@contextlib.contextmanager
def transaction(connection: Database) -> Generator[None]:
    """One write transaction: takes the write lock at once, commits at the end or rolls back."""
    try:
        connection.execute("BEGIN IMMEDIATE")
    except (apsw.BusyError, apsw.LockedError):
        raise StoreLocked("another process is writing to the store") from None
    try:
        check_version(connection)
        yield
        connection.execute("COMMIT")
    except BaseException as error:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        if is_damage(error):
            raise damaged(error) from error
        if isinstance(error, DISK_ERRORS):
            raise disk_error(error) from error
        raise


@contextlib.contextmanager
def savepoint(connection: Database) -> Generator[None]:
    """A part of a transaction that is taken back alone when it raises."""
    connection.execute("SAVEPOINT part")
    try:
        yield
    except BaseException:
        if connection.in_transaction:  # SQLite takes all of it back when the disk is full
            connection.execute("ROLLBACK TO part")
            connection.execute("RELEASE part")
        raise
    connection.execute("RELEASE part")


DISK_ERRORS = (apsw.FullError, apsw.IOError, apsw.ReadOnlyError, apsw.CantOpenError)
UNUSABLE = (
    *DISK_ERRORS,
    *(apsw.BusyError, apsw.LockedError, apsw.CorruptError, apsw.NotADBError, apsw.NoMemError),
)
"""Errors that concern the whole database, not one row."""


DAMAGE_ERRORS = (apsw.CorruptError, apsw.NotADBError)


def damaged(error: BaseException, path: str = "") -> DatabaseDamaged:
    """What SQLite says when the file is not what it wrote."""
    return DatabaseDamaged(f"the database {path or 'of the store'} is damaged: {describe(error)}")


@contextlib.contextmanager
def telling_damage() -> Generator[None]:
    """Turn SQLite's errors about damage into ours."""
    try:
        yield
    except apsw.Error as error:
        if is_damage(error):
            raise damaged(error) from error
        raise


def disk_error(error: Exception) -> StoreError:
    """What SQLite says when the disk does not take what it writes."""
    return StoreError(
        f"cannot write the store: {error}",
        hint="free disk space or check the store's permissions; nothing half-written was kept",
    )


def rows(connection: Database, sql: str, bindings: Any = ()) -> list[Row]:
    """All rows of a query."""
    return connection.execute(sql, bindings).fetchall()


def value(connection: Database, sql: str, bindings: Any = ()) -> Any:
    """The first column of the first row, or None."""
    row = connection.execute(sql, bindings).fetchone()
    return row[0] if row else None


def for_each(connection: Database, sql: str, ids: Iterable[int]) -> list[Row]:
    """All rows of a query that is asked for each of these numbers in turn."""
    return connection.executemany(sql, [(number,) for number in ids]).fetchall()


ROWS_AT_ONCE = (16, 4, 1)
"""Few sizes: SQLite compiles a statement for each, and one with triggers takes it long."""


def insert_rows(connection: Database, insert: str, values: Sequence[Row], then: str = "") -> None:
    """Insert rows with as many marks as the first one has, several to a statement.

    What a statement with triggers or lists of allowed words sets up, it sets up once for all rows.
    """
    start = 0
    while left := len(values) - start:
        size = next(size for size in ROWS_AT_ONCE if size <= left)
        chunk = values[start : start + size]
        marks = f"({', '.join('?' * len(chunk[0]))})"
        bindings = list(itertools.chain.from_iterable(chunk))
        connection.execute(f"{insert} VALUES {', '.join([marks] * size)} {then}", bindings)
        start += size
