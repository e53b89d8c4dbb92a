"""Reading the rows of a damaged database: everything that does not lie on a bad page.

Rows are read through SQLite, never from pages by hand: what was deleted may still stand in free
pages, and must not come back. A table is read from its start to the first bad page, then from its
end backwards; what lies between further bad pages is found by halving the range of its keys.
"""

from __future__ import annotations

import contextlib
import heapq
import os
import shutil
import struct
import tempfile
from collections.abc import Callable, Generator
from typing import cast

import apsw
import msgspec

from session_memory.store.damage import LOG_SUFFIXES
from session_memory.store.sqlite import checksums
from session_memory.store.sqlite.connection import PAGE_SIZE, Database, Row, create, file_uri, rows

MAGIC = b"SQLite format 3\x00"
HEADER_BYTES = 100
PROBES = 4000
"""How often a table is queried for what lies between bad pages."""
PAGES_TRIED = 8
"""Pages that are checked for a checksum where the header does not say."""
STEPS = 8
"""Into how many parts each power of two is divided where nothing is known of a table's keys."""
_LOWEST, _HIGHEST = -(1 << 63), (1 << 63) - 1
Take = Callable[[Row], object]


class Table(msgspec.Struct, frozen=True):
    """How to read a table in the order of its tree."""

    name: str
    columns: tuple[str, ...]
    order: tuple[str, ...]
    """Columns of its key."""
    numbered: bool
    """Whether the first column of the key is an integer."""


def tables_of(db: Database) -> dict[str, Table]:
    """Every ordinary table of a sound database; those of the full-text index are made again."""
    tables: dict[str, Table] = {}
    for _, name, kind, _, without_rowid, _ in rows(db, "PRAGMA main.table_list"):
        if kind != "table" or name.startswith("sqlite_"):
            continue
        info = rows(db, f'PRAGMA table_info("{name}")')
        keys = sorted((row for row in info if row[5]), key=lambda row: row[5])
        order = tuple(row[1] for row in keys) if without_rowid else ("rowid",)
        numbered = not without_rowid or keys[0][2] == "INTEGER"
        tables[name] = Table(name, tuple(row[1] for row in info), order, numbered)
    return tables


@contextlib.contextmanager
def opened(path: str) -> Generator[Database | None]:
    """A damaged database, for reading only; None where nothing of it can be read.

    The file itself is never opened for writing: with a log next to it, or without a valid header, a
    copy is read.
    """
    with contextlib.ExitStack() as stack:
        uri = file_uri(path, "immutable=1")
        log = path + LOG_SUFFIXES[0]
        has_log = os.path.exists(log) and os.path.getsize(log) > 0
        if has_log or not _has_header(path):
            folder = tempfile.mkdtemp(prefix="repair-", dir=os.path.dirname(path))
            stack.callback(shutil.rmtree, folder, ignore_errors=True)
            copy = os.path.join(folder, "copy.db")
            shutil.copyfile(path, copy)
            if has_log:
                shutil.copyfile(log, copy + LOG_SUFFIXES[0])
            if not _has_header(path):
                _write_header(copy)
            uri = file_uri(copy, "mode=rw")
        try:
            flags = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_URI
            connection = cast("Database", apsw.Connection(uri, flags=flags))
            stack.callback(connection.close)
            # Also reads a file that was cut short, and a schema with a bad entry.
            connection.execute("PRAGMA writable_schema = 1")
            connection.execute("PRAGMA query_only = 1")
            # Names of tables are compared with ours; only rows must come from pages that are whole.
            connection.execute("PRAGMA checksum_verification = OFF")
            connection.execute("SELECT count(*) FROM sqlite_schema").fetchall()
            connection.execute("PRAGMA checksum_verification = ON")
        except (apsw.Error, OSError):
            yield None
            return
        yield connection


def _has_header(path: str) -> bool:
    with open(path, "rb") as file:
        header = file.read(HEADER_BYTES)
    page_size, write, read, reserved = struct.unpack_from(">HBBB", header.ljust(HEADER_BYTES), 16)
    sound = header.startswith(MAGIC) and (page_size, write, read) == (PAGE_SIZE, 2, 2)
    return sound and reserved in (0, checksums.RESERVED) and not checksums.lost_in(header)


def _write_header(path: str) -> None:
    """Give a copy the header that every database of ours has; the rest of its page may be whole."""
    folder, pages = os.path.dirname(path), os.path.getsize(path) // PAGE_SIZE
    sample = os.path.join(folder, "sample.db")
    with open(path, "rb") as file:
        file.seek(PAGE_SIZE)
        checked = any(checksums.fit(file.read(PAGE_SIZE)) for _ in range(PAGES_TRIED))
    create(sample, plain=not checked)
    with open(sample, "rb") as file:
        header = bytearray(file.read(HEADER_BYTES))
    struct.pack_into(">I", header, 28, pages)
    with open(path, "r+b") as file:
        file.write(header)


def columns_in(db: Database, table: Table) -> tuple[str, ...]:
    """Which columns of a table a database has: one that an older program wrote lacks some."""
    here = {row[1] for row in rows(db, f'PRAGMA table_info("{table.name}")')}
    return tuple(column for column in table.columns if column in here)


def read_table(db: Database, table: Table, columns: tuple[str, ...], take: Take) -> bool:
    """Give every readable row to `take`, some perhaps twice; returns whether none was lost."""
    reader = _Reader(db, table, ", ".join((table.order[0], *columns)), take)
    last, whole = reader.read()
    if whole:
        return True
    first, _ = reader.read(backwards=True)
    if table.numbered:
        ends = [key for key in (last, first) if isinstance(key, int)]
        if len(ends) < 2:  # the first or the last page is bad: where between do rows begin?
            ends += _anchors(reader)
        if ends:
            _between(reader, min(ends), max(ends))
    return False


def _anchors(reader: _Reader) -> list[int]:
    """Keys of rows found by trying: steps grow with the number, as keys may be small or hashes."""
    keys: list[int] = []
    for exponent in range(63):
        for part in range(STEPS):
            near = (1 << exponent) + part * (1 << exponent) // STEPS
            far = (1 << exponent) + (part + 1) * (1 << exponent) // STEPS
            for low, high in ((near, far), (-far, -near)):
                last, _ = reader.read(low, high)
                if isinstance(last, int):
                    keys += [low, last]
    return keys


class _Reader(msgspec.Struct):
    db: Database
    table: Table
    select: str
    take: Take

    def read(
        self, low: int | None = None, high: int | None = None, *, backwards: bool = False
    ) -> tuple[object, bool]:
        """Read a range up to a bad page: (key of the last row, whether it came to the end)."""
        key, way = self.table.order[0], " DESC" if backwards else ""
        where = "" if low is None else f" WHERE {key} BETWEEN {low} AND {high}"
        order = ", ".join(column + way for column in self.table.order)
        sql = f'SELECT {self.select} FROM "{self.table.name}" NOT INDEXED{where} ORDER BY {order}'
        last = None
        try:
            for row in self.db.execute(sql):
                last = row[0]
                self.take(row[1:])
        except (apsw.Error, UnicodeDecodeError):
            return last, False
        return last, True


def _between(reader: _Reader, low: int, high: int) -> None:
    """Halve what is left until every part was read or the probes are used up; largest first."""
    gaps = [(low - high, low, high)]
    for _ in range(PROBES // 2):
        if not gaps:
            return
        _, low, high = heapq.heappop(gaps)
        middle = (low + high) // 2
        last, whole = reader.read(middle + 1, high)
        if not whole and middle + 1 < high:
            start = last if isinstance(last, int) else middle + 1
            heapq.heappush(gaps, (start - high, start, high))
        first, whole = reader.read(low, middle, backwards=True)
        if not whole and low < middle:
            end = first if isinstance(first, int) else middle
            heapq.heappush(gaps, (low - end, low, end))
