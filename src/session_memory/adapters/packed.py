"""Logs that someone packed with gzip or zstd: `NAME.jsonl.gz`, `NAME.jsonl.zst`."""

from __future__ import annotations

import contextlib
import os
import zlib
from collections.abc import Generator
from typing import BinaryIO, cast

from session_memory.errors import AdapterError
from session_memory.late_modules import load_zstd
from session_memory.plain_files import open_plain

SUFFIXES = (".gz", ".zst")
UNPACKED_CAP = 4 * 1024**3
"""A packed log that grows beyond this is no log."""
_CHUNK = 4 * 1024 * 1024


def is_packed(path: str) -> bool:
    """Whether a file is packed, by its name."""
    return path.endswith(SUFFIXES)


def unpacked_name(path: str) -> str:
    """The name of a log before it was packed."""
    return path.removesuffix(".gz").removesuffix(".zst")


@contextlib.contextmanager
def open_log(path: str, offset: int) -> Generator[BinaryIO]:
    """A log at `offset`, which counts its unpacked bytes; only to be read forwards."""
    with open_plain(path) as file:
        if not is_packed(path):
            file.seek(offset)
            yield file
            return
        zstd = load_zstd() if path.endswith(".zst") else None
        import gzip  # nearly no log is packed

        opened = zstd.open(file, "rb") if zstd else gzip.GzipFile(fileobj=file, mode="rb")
        broken = (EOFError, gzip.BadGzipFile, zlib.error, *((zstd.ZstdError,) if zstd else ()))
        try:
            with opened as stream:
                _skip(cast("BinaryIO", stream), offset)
                yield cast("BinaryIO", stream)
        except broken as error:
            raise AdapterError(f"{os.path.basename(path)} cannot be unpacked: {error}") from error


def unpack_zstd(data: bytes, cap: int) -> bytes | None:
    """What is packed in some bytes; None if that is more than `cap`."""
    zstd = load_zstd()
    unpacker = zstd.ZstdDecompressor()
    try:
        unpacked = unpacker.decompress(data, max_length=cap + 1)
        if len(unpacked) <= cap and not unpacker.eof:
            raise AdapterError("it cannot be unpacked: its end is missing")
    except zstd.ZstdError as error:
        raise AdapterError(f"it cannot be unpacked: {error}") from error
    return unpacked if len(unpacked) <= cap else None


def pack_zstd(data: bytes) -> bytes:
    """Packed bytes, for tests."""
    return load_zstd().compress(data)


def _skip(stream: BinaryIO, offset: int) -> None:
    while offset and (data := stream.read(min(_CHUNK, offset))):
        offset -= len(data)
