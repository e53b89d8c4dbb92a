"""A folder of Parquet tables, on a disk or in object storage: listed, read, and written whole."""

# pyarrow has no types.
# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownParameterType=false, reportUnknownLambdaType=false

from __future__ import annotations

import errno
import os
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, cast
from uuid import uuid4

import pyarrow as pa
import pyarrow.fs as pafs
import pyarrow.parquet as pq

from session_memory.errors import NotFound, SessionMemoryError, UsageError
from session_memory.fleet.tables import Row

_SUFFIX = ".parquet"
_NAME = 255  # characters that a folder's name may have
TABLES = ("sessions", "digests", "signals", "events", "usage", "effects", "patterns")


class Damaged(Exception):  # noqa: N818 - named by what is the matter, as in errors.py
    """A file that is no whole Parquet file."""


_LOGIN = re.compile(r"://[^/?#\s]*@")


def _shown(text: str) -> str:
    """An address, or an error that repeats it, for a person to read: without a key in it."""
    return _LOGIN.sub("://***@", text)[:200]


class Dataset:
    """One folder, by its path or URL; a value that travels to workers as that text."""

    def __init__(self, location: str) -> None:
        self.place = location
        try:
            if not location:
                raise pa.ArrowInvalid("it has no name")
            if "://" in location:
                opened = pafs.FileSystem.from_uri(location)
                self._fs, self._root = cast("tuple[pafs.FileSystem, str]", opened)
            else:
                self._fs, self._root = pafs.LocalFileSystem(), os.path.abspath(location)
        except (pa.ArrowInvalid, OSError) as error:
            raise UsageError(
                f"no place for Parquet: {_shown(location)} ({_shown(str(error))})",
                hint="give a folder, or an address such as s3://bucket/folder",
            ) from None

    def parts(self, table: str) -> list[str]:
        """The names of a table's files, the newest sessions first."""
        try:
            infos = self._fs.get_file_info(
                pafs.FileSelector(f"{self._root}/{table}", allow_not_found=True)
            )
        except OSError as error:
            raise SessionMemoryError(
                f"cannot list {_shown(self.place)}: {_shown(str(error)[-200:])}",
                hint="is the address right, and reachable?",
            ) from None
        names = [info.base_name for info in infos if info.base_name.endswith(_SUFFIX)]
        return sorted((name.removesuffix(_SUFFIX) for name in names), reverse=True)

    def check(self, table: str) -> None:
        """Raise unless the folder holds this table."""
        if not self.parts(table):
            raise NotFound(
                f"no {table} in {_shown(self.place)}",
                hint="`session-memory fleet export DIR` writes such a folder",
            )

    def check_writable(self) -> None:
        """Raise where no such folder can be made; object storage fails only at a write."""
        if not isinstance(self._fs, pafs.LocalFileSystem):
            return
        folder = self._root
        while not os.path.lexists(folder) and len(os.path.basename(folder)) <= _NAME:
            folder = os.path.dirname(folder)
        if not os.path.isdir(folder) or not os.access(folder, os.W_OK):
            raise UsageError(
                f"cannot write to {_shown(self.place)}",
                hint="give a folder of yours, or an address such as s3://bucket/folder",
            )

    def read(self, table: str, part: str, columns: Sequence[str] | None = None) -> pa.Table:
        """One file; raises Damaged where it cannot be read as Parquet."""
        path = self._path(table, part)
        try:
            with self._fs.open_input_file(path) as file:
                return pq.read_table(file, columns=None if columns is None else list(columns))
        except FileNotFoundError:
            raise
        except (pa.ArrowException, OSError, KeyError, ValueError) as error:
            if isinstance(error, OSError) and error.errno in (errno.EACCES, errno.EMFILE):
                raise
            raise Damaged(f"{table}/{part}{_SUFFIX}: {error}") from None

    def read_if_there(self, table: str, part: str) -> pa.Table | None:
        """The same; None where there is no such file, or it is damaged."""
        try:
            return self.read(table, part)
        except (FileNotFoundError, Damaged):
            return None

    def write(self, table: str, part: str, rows: pa.Table) -> int:
        """Write a file whole, so that no reader ever sees half of one; returns its size."""
        path = self._path(table, part)
        self._fs.create_dir(os.path.dirname(path), recursive=True)
        if not isinstance(self._fs, pafs.LocalFileSystem):  # an object appears when it is complete
            with self._fs.open_output_stream(path) as file:
                pq.write_table(rows, file, compression="zstd")
            return int(self._fs.get_file_info(path).size)
        draft = Path(f"{path}.{uuid4().hex}.tmp")
        try:
            descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(descriptor, "wb") as file:
                pq.write_table(rows, file, compression="zstd")
            size = draft.stat().st_size
            os.replace(draft, path)
        finally:
            draft.unlink(missing_ok=True)
        return size

    def write_rows(self, table: str, part: str, schema: pa.Schema, rows: Iterable[Row]) -> int:
        """The same, of plain rows."""
        return self.write(table, part, pa.Table.from_pylist(list(rows), schema=schema))

    def read_bytes(self, name: str) -> bytes:
        """A small file next to the tables."""
        with self._fs.open_input_file(f"{self._root}/{name}") as file:
            return cast("bytes", file.read())

    def write_bytes(self, name: str, content: bytes) -> None:
        """Write a small file next to the tables."""
        path = f"{self._root}/{name}"
        self._fs.create_dir(os.path.dirname(path), recursive=True)
        with self._fs.open_output_stream(path) as file:
            file.write(content)

    def delete(self, table: str, part: str | None = None) -> None:
        """Delete one file of a table, or a file next to the tables."""
        path = f"{self._root}/{table}" if part is None else self._path(table, part)
        if self._fs.get_file_info(path).type != pafs.FileType.NotFound:
            self._fs.delete_file(path)

    def arrow(self, table: str, parts: Iterable[str]) -> Any:
        """These files of a table, for DuckDB to read."""
        import pyarrow.dataset as padataset

        paths = [self._path(table, part) for part in parts]
        return padataset.dataset(paths, filesystem=self._fs, format="parquet")

    def _path(self, table: str, part: str) -> str:
        return f"{self._root}/{table}/{part}{_SUFFIX}"
