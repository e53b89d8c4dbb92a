"""Logs that someone packed with gzip or zstd: `NAME.jsonl.gz`, `NAME.jsonl.zst`."""

from __future__ import annotations

import contextlib
import os
import zlib
from collections.abc import Callable, Generator
from functools import partial
from typing import Any, BinaryIO, cast

from session_memory.errors import AdapterError
from session_memory.late_modules import load_zstd
from session_memory.plain_files import open_plain

SUFFIXES = (".gz", ".zst")
UNPACKED_CAP = 4 * 1024**3
"""A packed log that grows beyond this is no log."""
_CHUNK = 4 * 1024 * 1024
_PIECE = 32 * 1024
"""Packed bytes at a time: what is behind one of many packed pieces is copied with each of them."""
_GZIP = 16 + zlib.MAX_WBITS


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
        make = zstd.ZstdDecompressor if zstd else partial(zlib.decompressobj, _GZIP)
        broken = (zlib.error, *((zstd.ZstdError,) if zstd else ()))
        name = os.path.basename(path)
        stream = _Unpacked(file, make, name)
        try:
            while offset and (data := stream.read(min(_CHUNK, offset))):
                offset -= len(data)
            if offset and stream.cut:  # what was read of it before is not there now
                raise AdapterError(stream.cut)
            yield cast("BinaryIO", stream)
        except broken as error:
            raise AdapterError(f"{name} cannot be unpacked: {error}") from error


def why_cut(stream: BinaryIO) -> str:
    """Why a log that was read to its end holds less than was packed; empty for a whole one."""
    return stream.cut if isinstance(stream, _Unpacked) else ""


class _Unpacked:
    """What is packed in a file, to be read forwards only, and never more than the caller wants."""

    def __init__(self, file: BinaryIO, make: Callable[[], Any], name: str) -> None:
        self._file = file
        self._make = make
        self._name = name
        self._unpacker: Any = None
        """None before the first and between two of the packed pieces that a file may hold."""
        self._packed = b""
        self._is_begun = False
        self.cut = ""

    def read(self, size: int) -> bytes:
        """That many bytes, or what is left of them."""
        pieces: list[bytes] = []
        while size > 0 and (piece := self._piece(size)):
            pieces.append(piece)
            size -= len(piece)
        return b"".join(pieces)

    def _piece(self, size: int) -> bytes:
        while not self.cut:
            if self._unpacker is None:
                if not (self._packed or self._refill()):
                    return b""
                if self._is_begun:  # what tapes and disks fill up with
                    self._packed = self._packed.lstrip(b"\0")
                    if not self._packed:
                        continue
                self._unpacker, self._is_begun = self._make(), True
            unpacker = self._unpacker
            piece = unpacker.decompress(self._packed, size)
            self._packed = getattr(unpacker, "unconsumed_tail", b"")
            if unpacker.eof:
                self._packed, self._unpacker = unpacker.unused_data, None
            elif not piece and not self._packed and not self._refill():
                self.cut = f"{self._name} cannot be unpacked to its end: it was cut off"
            if piece:
                return piece
        return b""

    def _refill(self) -> bool:
        self._packed = self._file.read(_PIECE)
        return bool(self._packed)


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
