"""Many small segments in one file: a flush and a name for each would cost more than its text.

The directory of a file says which segment is where, and stands at both ends of it, so that a
flipped bit in one of them costs no text. A segment is deleted by rewriting the file without it,
so its bytes are gone as if they had been a file of their own.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Mapping, Sequence

import msgspec

from session_memory.core.hashing import blake2b
from session_memory.errors import StoreDamaged

MAGIC = b"SMSEGS\x01\n"
SUFFIX = ".segs"
SMALL = 64 * 1024
"""Bytes up to which a segment shares a file."""
FEWEST = 8
"""Small segments of one commit from which on they share files: most sweeps bring one or two."""
MOST = 128
"""Segments in a file: it is rewritten when one of them is deleted."""
KEEP = 16
_DIGEST_SIZE = 16
_END = struct.Struct("<I8s")  # length of a directory with its hash, magic

Places = dict[str, tuple[int, int]]
"""Where each segment of a file is: its start and its length."""
_directories: dict[str, tuple[tuple[int, int, int], Places]] = {}
"""Directories of files that were read last, each with the stamp of its file."""
_read_lengths = msgspec.msgpack.Decoder(dict[str, int]).decode


def file_names(sizes: Sequence[int]) -> list[str | None]:
    """For the segments of one commit: the file that each shares; None for a file of its own."""
    small = [number for number, size in enumerate(sizes) if size <= SMALL]
    names: list[str | None] = [None] * len(sizes)
    if len(small) >= FEWEST:
        for start in range(0, len(small), MOST):
            name = os.urandom(8).hex()
            for number in small[start : start + MOST]:
                names[number] = name
    return names


def join(segments: Mapping[str, bytes]) -> bytes:
    """The bytes of a file that holds these segments."""
    listed = msgspec.msgpack.encode({name: len(data) for name, data in segments.items()})
    listed += blake2b(listed, digest_size=_DIGEST_SIZE).digest()
    end = _END.pack(len(listed), MAGIC)
    return b"".join((end, listed, *segments.values(), listed, end))


def places_in(descriptor: int, size: int) -> Places:
    """Where the segments of an open file are; StoreDamaged where neither directory is whole."""
    for start, is_first in ((0, True), (size - _END.size, False)):
        try:
            length, magic = _END.unpack(_read(descriptor, start, _END.size))
            at = start + _END.size if is_first else start - length
            listed = _read(descriptor, at, min(length, size))  # damaged, it could be gigabytes
            whole = blake2b(listed[:-_DIGEST_SIZE], digest_size=_DIGEST_SIZE).digest()
            if magic == MAGIC and whole == listed[-_DIGEST_SIZE:]:
                return _places(_read_lengths(listed[:-_DIGEST_SIZE]), _END.size + length)
        except (struct.error, msgspec.MsgspecError, ValueError, OSError):
            continue
    raise StoreDamaged("a file of shared segments has no valid directory")


def _places(lengths: dict[str, int], at: int) -> Places:
    places: Places = {}
    for name, length in lengths.items():
        places[name] = (at, length)
        at += length
    return places


def _read(descriptor: int, start: int, length: int) -> bytes:
    os.lseek(descriptor, max(0, start), os.SEEK_SET)
    data = os.read(descriptor, length)
    while data and len(data) < length and (more := os.read(descriptor, length - len(data))):
        data += more
    return data


class SharedFile:
    """One such file, opened for reading; its directory is read again only where it has changed."""

    def __init__(self, path: str) -> None:
        self._path = path
        flags = os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)
        self._descriptor = os.open(path, flags)
        self.status = os.fstat(self._descriptor)

    def __enter__(self) -> SharedFile:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._descriptor)

    @property
    def places(self) -> Places:
        """See Places."""
        stamp = (self.status.st_ino, self.status.st_mtime_ns, self.status.st_size)
        directory = _directories.get(self._path)
        if directory is None or directory[0] != stamp:
            if len(_directories) >= KEEP:
                _directories.clear()
            directory = _directories[self._path] = (
                stamp,
                places_in(self._descriptor, self.status.st_size),
            )
        return directory[1]

    def read(self, name: str, start: int = 0, length: int | None = None) -> bytes | None:
        """Part of a segment, a negative start counts from its end; None where it is not in here."""
        place = self.places.get(name)
        if place is None:
            return None
        at, size = place
        first = max(0, size + start) if start < 0 else min(start, size)
        wanted = size - first if length is None else min(length, size - first)
        return _read(self._descriptor, at + first, wanted)

    def all(self) -> dict[str, bytes]:
        """Every segment."""
        return {name: self.read(name) or b"" for name in self.places}
