"""Records what this process does to the disk, and reads the record as operations of the model.

The recorder is a small library of C in front of the C library, so that it sees SQLite and Python
alike. It is compiled when it is needed, and only works on Linux.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import shutil
import struct
import subprocess
import sys
from collections.abc import Generator, Iterator
from pathlib import Path

import msgspec
from tests.invariants.power_disk import (
    TOP,
    Disk,
    Mark,
    Name,
    Operation,
    Rename,
    Resize,
    Sync,
    Tree,
    Write,
)

SOURCE = Path(__file__).with_name("power_recorder.c")
_HEADER = struct.Struct("=IIIIQQQ")
_KINDS = ["create", "write", "resize", "sync", "rename", "unlink", "mkdir", "rmdir", "link", "mark"]


def missing() -> str | None:
    """Why nothing can be recorded here, if so."""
    if not sys.platform.startswith("linux"):
        return "the recorder of disk operations needs Linux"
    if shutil.which("cc") is None:
        return "the recorder of disk operations needs a C compiler (cc)"
    return None


def compiled(directory: Path) -> Path:
    """The recorder as a library; a program that is started with it in LD_PRELOAD can record."""
    library = directory / "power_recorder.so"
    command = ["cc", "-O1", "-shared", "-fPIC", "-o", str(library), str(SOURCE), "-lpthread"]
    subprocess.run(command, check=True, capture_output=True)
    return library


@contextlib.contextmanager
def recording(root: Path, book: Path) -> Generator[ctypes.CDLL]:
    """Within the block every change below `root` is written to `book`."""
    recorder = ctypes.CDLL(None)
    recorder.power_start(os.fsencode(root), os.fsencode(book))
    try:
        yield recorder
    finally:
        recorder.power_stop()


class Record(msgspec.Struct, frozen=True):
    """One call, as it was written down."""

    kind: str
    path: str
    other: str
    inode: int
    at: int
    data: bytes


def read_records(book: Path) -> Iterator[Record]:
    """Every record of a book, in order."""
    content, at = book.read_bytes(), 0
    while at < len(content):
        head: tuple[int, ...] = _HEADER.unpack_from(content, at)
        kind, path, other, _, inode, place, data = head
        parts: list[bytes] = []
        at += _HEADER.size
        for length in (path, other, data):
            parts.append(content[at : at + length])
            at += length
        names = (os.fsdecode(parts[0]), os.fsdecode(parts[1]))
        yield Record(_KINDS[kind - 1], *names, inode, place, parts[2])


def read_tree(root: Path, tops: tuple[str, ...]) -> Tree:
    """The files and directories below some names of a directory, as the model has them."""
    found: Tree = {}
    for top in tops:
        for path in sorted([root / top, *(root / top).rglob("*")]):
            if path.exists() and kept(path.name):
                found[str(path.relative_to(root))] = None if path.is_dir() else path.read_bytes()
    return found


def write_tree(tree: Tree, root: Path, tops: tuple[str, ...]) -> None:
    """Make these names hold exactly this."""
    for top in tops:
        shutil.rmtree(root / top, ignore_errors=True)
    for name, content in tree.items():
        path = root / name
        if content is None:
            path.mkdir(mode=0o700, parents=True, exist_ok=True)
        else:
            path.write_bytes(content)
            path.chmod(0o600)


def kept(name: str) -> bool:
    """SQLite's index of its log lives in memory and is made anew: no disk needs to keep it."""
    return not name.endswith("-shm")


class Reader:
    """Gives numbers to files and directories, which may be renamed and whose inodes return."""

    def __init__(self, root: Path, tops: tuple[str, ...]) -> None:
        self._root = str(root)
        self._tops = tops
        self._numbers: dict[int, int] = {os.stat(root).st_ino: TOP}
        self._names: dict[int, dict[str, int]] = {TOP: {}}
        self._next = TOP + 1

    def disk(self) -> Disk:
        """What is there now; called before anything is recorded."""
        files: dict[int, bytes] = {}
        for name, content in read_tree(Path(self._root), self._tops).items():
            directory, last = self._place(name)
            inode = os.stat(os.path.join(self._root, name)).st_ino
            number = self._new(inode)
            self._names[directory][last] = number
            if content is None:
                self._names[number] = {}
            else:
                files[number] = content
        return Disk(files, {number: dict(entries) for number, entries in self._names.items()})

    def operations(self, records: Iterator[Record]) -> Iterator[Operation]:
        """What happened below the names that are looked at."""
        for record in records:
            if record.kind == "mark":
                yield Mark(record.path)
            elif record.kind in ("write", "resize", "sync"):
                number = self._numbers.get(record.inode)
                if number is None:
                    continue
                if record.kind == "write":
                    yield Write(number, record.at, record.data)
                else:
                    yield Resize(number, record.at) if record.kind == "resize" else Sync(number)
            else:
                changes = tuple(self._changes(record))
                for change in changes:
                    self._apply(change)
                if changes:
                    yield Rename(changes)

    def _changes(self, record: Record) -> Iterator[Name]:
        path, other = self._inside(record.path), self._inside(record.other)
        if record.kind in ("create", "mkdir") and path:
            number = self._new(record.inode)
            if record.kind == "mkdir":
                self._names[number] = {}
            yield Name(*self._place(path), number, record.kind == "mkdir")
        elif record.kind in ("create", "mkdir"):
            self._numbers.pop(record.inode, None)  # it was the number of a file that is gone
        elif record.kind in ("unlink", "rmdir") and path:
            yield Name(*self._place(path), None)
        elif record.kind in ("rename", "link"):
            node = self._at(path) if path else None
            if record.kind == "rename" and path:
                yield Name(*self._place(path), None)
            if other:
                if node is None:
                    raise ValueError(f"{record.path} came from where nobody looks")
                yield Name(*self._place(other), node, node in self._names)

    def _inside(self, path: str) -> str | None:
        name = os.path.relpath(os.path.normpath(path), self._root) if path else ""
        return name if name.split("/")[0] in self._tops and kept(name) else None

    def _place(self, name: str) -> tuple[int, str]:
        *above, last = name.split("/")
        directory = TOP
        for part in above:
            directory = self._names[directory][part]
        return directory, last

    def _at(self, name: str) -> int:
        directory, last = self._place(name)
        return self._names[directory][last]

    def _apply(self, change: Name) -> None:
        if change.node is None:
            self._names[change.directory].pop(change.name, None)
        else:
            self._names[change.directory][change.name] = change.node

    def _new(self, inode: int) -> int:
        number, self._next = self._next, self._next + 1
        self._numbers[inode] = number
        return number
