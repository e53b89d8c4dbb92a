"""Immutable segment files: the texts of one session's new events of one commit, in zstd blocks.

Layout of a file: magic, the compressed blocks, the compressed manifest, then a footer (lengths of
the blocks, length of the manifest, text size, block size, number of blocks, magic). Files of the
first version have no manifest. The text is cut into blocks of equal size, so that an event's offset
says which block holds it; each block is one zstd frame with its own checksum, so that a flipped bit
is an error and never a wrong answer.

Small segments of one commit share a file, whose name is part of theirs: see store.shared_segments.
"""

from __future__ import annotations

import contextlib
import functools
import os
import struct
from collections.abc import Iterator
from typing import Any, Protocol

import msgspec

from session_memory.atomic_files import flush_directory, make_directory, write_file
from session_memory.core.hashing import blake2b
from session_memory.errors import StoreDamaged
from session_memory.late_modules import load_zstd
from session_memory.regex_cache import compiled
from session_memory.store import shared_segments
from session_memory.store.fresh_texts import FreshTexts
from session_memory.store.in_threads import in_threads
from session_memory.store.lock import exclusive
from session_memory.store.shared_segments import SharedFile

MAGIC = b"SMSEG\x02\r\n"
FIRST_MAGIC = b"SMSEG\x01\r\n"
BLOCK_TEXT = 128 * 1024
LEVEL = 3
DIGEST_SIZE = 16
WRITERS = 8
"""Threads that write segments; see DirectorySegments.put."""
SUFFIX = ".seg"
_NAME = compiled(r"([0-9a-f]+)([-_])[0-9a-f]+(?:\.([0-9a-f]{16}))?\.seg")
_NEIGHBOURS = 256
"""Sessions in a row whose segments share a folder: a commit flushes every folder it writes to."""
_SHARED_NAME = compiled(r"[0-9a-f]{16}\.segs")
_TRAILER = struct.Struct("<QII8s")  # text size, block size, number of blocks, magic
_MANIFEST = struct.Struct("<I")


@functools.cache
def _compressor() -> Any:
    """Made once: for a short text, making one takes longer than using it."""
    parameter = load_zstd().CompressionParameter
    options = {parameter.compression_level: LEVEL, parameter.checksum_flag: 1}
    return load_zstd().ZstdCompressor(options=options)


def compress(text: bytes) -> bytes:
    """One frame that says how long its text is."""
    compressor = _compressor()
    compressor.set_pledged_input_size(len(text))
    return compressor.compress(text, mode=compressor.FLUSH_FRAME)


def decompress(data: bytes) -> bytes:
    """What `compress` was given; StoreDamaged where that cannot be restored."""
    try:
        return bytes(load_zstd().decompress(data))
    except load_zstd().ZstdError as error:
        raise StoreDamaged(str(error)) from None


class Packed(msgspec.Struct, frozen=True):
    """A segment ready to be written."""

    name: str
    data: bytes
    text_bytes: int
    digest: bytes


class SegmentStore(Protocol):
    """Where segment files live. A directory by default; an object store can take its place."""

    def put(self, segments: list[Packed]) -> None:
        """Store all of them durably, or raise; a name already there is replaced by equal bytes."""
        ...

    def read(self, name: str) -> bytes:
        """The bytes of one segment; StoreDamaged when it is missing."""
        ...

    def read_range(self, name: str, start: int, length: int) -> bytes:
        """Part of a segment; a negative start counts from its end."""
        ...

    def delete(self, names: list[str]) -> int:
        """Remove those that exist and say how many did."""
        ...

    def names(self) -> Iterator[str]:
        """Every name present, in no order."""
        ...

    def drop_unfinished(self) -> None:
        """Remove what an interrupted `put` left; only while no other process can be inside one."""
        ...

    def flawed(self) -> list[str]:
        """Files that are damaged where no text is lost."""
        ...

    def mend(self) -> None:
        """Make those whole again."""
        ...


def pack(session_id: int, text: bytes, manifest: bytes = b"") -> Packed:
    """Compress one segment's text and what it says about it; see store.manifest.

    The name holds the session, the hash and a random part: two commits may bring equal texts, and
    a name that was doomed once must never belong to a live file again.
    """
    blocks = [
        compress(text[start : start + BLOCK_TEXT]) for start in range(0, len(text), BLOCK_TEXT)
    ]
    lengths = struct.pack(f"<{len(blocks)}I", *(len(block) for block in blocks))
    trailer = _TRAILER.pack(len(text), BLOCK_TEXT, len(blocks), MAGIC)
    packed_manifest = compress(manifest)
    data = b"".join(
        (MAGIC, *blocks, packed_manifest, lengths, _MANIFEST.pack(len(packed_manifest)), trailer)
    )
    digest = blake2b(data, digest_size=DIGEST_SIZE).digest()
    name = f"{session_id:x}_{digest.hex()}{os.urandom(8).hex()}{SUFFIX}"
    return Packed(name, data, len(text), digest)


def share(segments: list[Packed]) -> list[Packed]:
    """The segments of one commit, small ones under names that say which file they share."""
    files = shared_segments.file_names([len(segment.data) for segment in segments])
    return [
        segment
        if file is None
        else msgspec.structs.replace(
            segment, name=f"{segment.name.removesuffix(SUFFIX)}.{file}{SUFFIX}"
        )
        for segment, file in zip(segments, files, strict=True)
    ]


class _Directory(msgspec.Struct):
    starts: list[int]
    lengths: list[int]
    text_bytes: int
    block_text: int
    manifest: tuple[int, int]
    """Where the manifest is and how long; (0, 0) for none."""


def _directory(store: SegmentStore, name: str) -> _Directory:
    trailer = store.read_range(name, -_TRAILER.size, _TRAILER.size)
    try:
        text_bytes, block_text, count, magic = _TRAILER.unpack(trailer)
    except struct.error:
        raise StoreDamaged(f"segment {name} is cut short") from None
    has_magic = magic in (MAGIC, FIRST_MAGIC)
    if not has_magic or block_text <= 0 or count != -(-text_bytes // block_text):
        raise StoreDamaged(f"segment {name} has no valid trailer")
    has_manifest = magic == MAGIC
    size = 4 * count + (_MANIFEST.size if has_manifest else 0)
    raw = store.read_range(name, -_TRAILER.size - size, size)
    if len(raw) != size:
        raise StoreDamaged(f"segment {name} is cut short")
    lengths = list(struct.unpack_from(f"<{count}I", raw))
    length = _MANIFEST.unpack_from(raw, 4 * count)[0] if has_manifest else 0
    starts: list[int] = []
    at = len(MAGIC)
    for size in lengths:
        starts.append(at)
        at += size
    return _Directory(starts, lengths, text_bytes, block_text, (at if has_manifest else 0, length))


class SegmentReader:
    """Reads texts out of segments, keeping the last few blocks: events are read in runs."""

    KEEP = 16

    def __init__(self, store: SegmentStore) -> None:
        self.store = store
        self._directories: dict[str, _Directory] = {}
        self._blocks: dict[tuple[str, int], bytes] = {}
        self.fresh = FreshTexts()

    def decoded(self, name: str, offset: int, length: int) -> str:
        """The text of an event, whose bytes are at `offset` of a segment's text."""
        fresh_text = self.fresh.decoded(name, offset)
        return (
            self.text(name, offset, length).decode("utf-8", "replace")
            if fresh_text is None
            else fresh_text
        )

    def text(self, name: str, offset: int, length: int) -> bytes:
        """The bytes at `offset` of a segment's text."""
        if length == 0:
            return b""
        if (fresh := self.fresh.part(name, offset, length)) is not None:
            return fresh
        directory = self._directories.get(name)
        if directory is None:
            directory = _directory(self.store, name)
            if len(self._directories) > self.KEEP:
                self._directories.clear()
            self._directories[name] = directory
        end = offset + length
        if offset < 0 or end > directory.text_bytes:
            raise StoreDamaged(f"segment {name} has no text at {offset}+{length}")
        first, last = offset // directory.block_text, (end - 1) // directory.block_text
        whole = b"".join(self._block(name, directory, i) for i in range(first, last + 1))
        start = offset - first * directory.block_text
        return whole[start : start + length]

    def _block(self, name: str, directory: _Directory, index: int) -> bytes:
        block = self._blocks.get((name, index))
        if block is None:
            data = self.store.read_range(name, directory.starts[index], directory.lengths[index])
            try:
                block = decompress(data)
            except StoreDamaged as error:
                raise StoreDamaged(f"segment {name}, block {index}: {error}") from None
            left = directory.text_bytes - index * directory.block_text
            if len(block) != min(left, directory.block_text):  # the footer has no checksum
                raise StoreDamaged(f"segment {name}, block {index} has another size than stated")
            if len(self._blocks) >= self.KEEP:
                del self._blocks[next(iter(self._blocks))]
            self._blocks[name, index] = block
        return block


def unpack(store: SegmentStore, name: str) -> bytes:
    """The whole text of a segment."""
    reader = SegmentReader(store)
    return reader.text(name, 0, _directory(store, name).text_bytes)


def manifest_bytes(store: SegmentStore, name: str) -> bytes | None:
    """What a segment says about itself; None for one that says nothing."""
    at, length = _directory(store, name).manifest
    if not at:
        return None
    try:
        return decompress(store.read_range(name, at, length)) or None
    except StoreDamaged as error:
        raise StoreDamaged(f"segment {name}, manifest: {error}") from None


def text_size(store: SegmentStore, name: str) -> int | None:
    """How many bytes of text a segment holds; None where it cannot be read."""
    try:
        return _directory(store, name).text_bytes
    except (StoreDamaged, OSError):
        return None


def session_of(name: str) -> int:
    """The number of the session that a segment was written for."""
    valid = _NAME.fullmatch(name)
    if valid is None:
        raise StoreDamaged(f"not a segment name: {name!r}")
    return int(valid[1], 16)


def digest_of(data: bytes) -> bytes:
    """The hash that a segment's row keeps of the file."""
    return blake2b(data, digest_size=DIGEST_SIZE).digest()


class DirectorySegments:
    """Segment files in a directory with 256 subfolders; private modes from the first byte."""

    def __init__(self, root: str) -> None:
        self.root = root

    def path(self, name: str) -> str:
        """Where a segment of this name is, or would be: a file of its own, or a shared one."""
        valid = _NAME.fullmatch(name)
        if valid is None:  # names come from rows: no traversal
            raise StoreDamaged(f"not a segment name: {name!r}")
        session, joint, file = valid.groups()
        if file is not None:
            return os.path.join(self.root, file[:2], file + shared_segments.SUFFIX)
        # Before schema 24 names had a dash, and sessions in a row went to different folders.
        number = int(session, 16) // (1 if joint == "-" else _NEIGHBOURS)
        return os.path.join(self.root, f"{number % 256:02x}", name)

    def put(self, segments: list[Packed]) -> None:
        """Write temp files, fsync them together, rename, then fsync each directory once."""
        files: dict[str, bytes] = {}
        shared: dict[str, dict[str, bytes]] = {}
        for segment in segments:
            path = self.path(segment.name)
            if _is_shared(path):
                shared.setdefault(path, {})[segment.name] = segment.data
            else:
                files[path] = segment.data
        for path, inside in shared.items():
            with contextlib.suppress(FileNotFoundError), SharedFile(path) as file:
                inside = file.all() | inside  # a backup brings a file in parts
            files[path] = shared_segments.join(inside)
        self._write(files)

    def _write(self, files: dict[str, bytes]) -> None:
        if not files:
            return
        folders = {os.path.dirname(path) for path in files}
        self._make(folders)
        paths = list(files)
        if len(paths) == 1:
            _write_temps(files, paths)
        else:  # the disk merges neighbouring flushes: 8 at a time cost a third of one by one
            in_threads(
                functools.partial(_write_temps, files, paths[start::WRITERS])
                for start in range(min(WRITERS, len(paths)))
            )
        for path in paths:
            os.replace(path + ".tmp", path)
        for folder in folders:
            flush_directory(folder)

    def _make(self, folders: set[str]) -> None:
        """Make those that are missing, and flush their names together."""
        make_directory(self.root)
        missing = [folder for folder in folders if not os.path.isdir(folder)]
        for folder in missing:
            os.makedirs(folder, mode=0o700, exist_ok=True)
        if missing:
            flush_directory(self.root)

    def read(self, name: str) -> bytes:
        """See SegmentStore."""
        path = self.path(name)
        try:
            if _is_shared(path):
                return self._read_shared(path, name)
            with open(path, "rb") as file:
                return file.read()
        except FileNotFoundError:
            raise StoreDamaged(f"segment {name} is missing") from None

    def read_range(self, name: str, start: int, length: int) -> bytes:
        """See SegmentStore."""
        path = self.path(name)
        try:
            if _is_shared(path):
                return self._read_shared(path, name, start, length)
            with open(path, "rb", buffering=0) as file:
                if start < 0:
                    start = max(0, file.seek(0, os.SEEK_END) + start)
                file.seek(start)
                return file.read(length)
        except FileNotFoundError:
            raise StoreDamaged(f"segment {name} is missing") from None

    def _read_shared(
        self, path: str, name: str, start: int = 0, length: int | None = None
    ) -> bytes:
        with SharedFile(path) as file:
            data = file.read(name, start, length)
        if data is None:
            raise StoreDamaged(f"segment {name} is missing")
        return data

    def delete(self, names: list[str]) -> int:
        """See SegmentStore."""
        gone = 0
        folders: set[str] = set()
        shared: dict[str, set[str]] = {}
        for name in names:
            path = self.path(name)
            if _is_shared(path):
                shared.setdefault(path, set()).add(name)
            elif _unlink(path):
                gone += 1
                folders.add(os.path.dirname(path))
        for folder in folders:
            flush_directory(
                folder
            )  # what was reported as deleted must not come back after a power cut
        if shared:
            with exclusive(self.root, "removing texts", wait=True):  # two would undo each other
                gone += sum(self._take_out(path, out) for path, out in shared.items())
        return gone

    def _take_out(self, path: str, names: set[str]) -> int:
        """Rewrite a shared file without some of its segments; returns how many were in it."""
        try:
            with SharedFile(path) as file:
                places, status = file.places, file.status
                left = {name: data for name, data in file.all().items() if name not in names}
        except FileNotFoundError:
            return 0
        except StoreDamaged:  # none of its segments can be read: `repair` has reported it
            places, status, left = dict.fromkeys(names, (0, 0)), None, {}
        if len(left) == len(places):
            return 0
        if left:
            self._write({path: shared_segments.join(left)})
            if status is not None:
                os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
        else:
            _unlink(path)
            flush_directory(os.path.dirname(path))
        return len(places) - len(left)

    def names(self) -> Iterator[str]:
        """See SegmentStore; files with other names are not ours and stay."""
        for entry in self._entries():
            if _NAME.fullmatch(entry.name):
                yield entry.name
            elif _SHARED_NAME.fullmatch(entry.name):
                # What an unreadable file holds is unknown, so nothing in it counts as left over.
                with contextlib.suppress(StoreDamaged, OSError), SharedFile(entry.path) as file:
                    yield from file.places

    def flawed(self) -> list[str]:
        """Shared files with one damaged directory: the other still leads to all texts."""
        return [path for path, whole in self._shared_files() if _bytes_of(path) != whole]

    def mend(self) -> None:
        """Rewrite those files."""
        with exclusive(self.root, "removing texts", wait=True):
            for path, whole in self._shared_files():
                if _bytes_of(path) != whole:
                    self._write({path: whole})

    def _shared_files(self) -> Iterator[tuple[str, bytes]]:
        """Those that can be read, with the bytes that they should have."""
        for entry in list(self._entries()):
            if _SHARED_NAME.fullmatch(entry.name):
                with contextlib.suppress(StoreDamaged, OSError), SharedFile(entry.path) as file:
                    yield entry.path, shared_segments.join(file.all())

    def written_at(self, name: str) -> int:
        """When a segment was written, in milliseconds."""
        return os.stat(self.path(name)).st_mtime_ns // 1_000_000

    def move_to(self, name: str, folder: str) -> None:
        """Take a file out of the store without deleting it."""
        make_directory(folder)
        path = self.path(name)
        if not _is_shared(path):
            os.rename(path, os.path.join(folder, name))
            return
        write_file(os.path.join(folder, name), self.read(name))
        self.delete([name])

    def drop_unfinished(self) -> None:
        """See SegmentStore."""
        for entry in self._entries():
            name = entry.name.removesuffix(".tmp")
            is_ours = _NAME.fullmatch(name) or _SHARED_NAME.fullmatch(name)
            if is_ours and name != entry.name:
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(entry.path)

    def _entries(self) -> Iterator[os.DirEntry[str]]:
        try:
            folders = [entry.path for entry in os.scandir(self.root) if entry.is_dir()]
        except FileNotFoundError:
            return
        for folder in folders:
            yield from os.scandir(folder)


def _is_shared(path: str) -> bool:
    return path.endswith(shared_segments.SUFFIX)


def _write_temps(files: dict[str, bytes], paths: list[str]) -> None:
    for path in paths:
        write_file(path + ".tmp", files[path])


def _unlink(path: str) -> bool:
    try:
        os.unlink(path)
    except FileNotFoundError:
        return False
    return True


def _bytes_of(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()
