"""What a disk may hold after the power failed: operations, which of them are sure, what they leave.

The rules, harder than any file system we know:

- What was flushed stays. A flush of a file covers its content, not its name; a flush of a
  directory covers its names, not what is in the files.
- Of a write that was not flushed, each sector may be there or not, whatever was written before or
  after. A file may also have grown without the bytes: they read as zeros.
- A name that was made, moved or removed without a flush of its directory may be as before or as
  after, each independently of the others. One rename happens whole or not at all.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Mapping
from typing import TypeAlias

import msgspec

SECTOR = 512
TOP = 0
"""The number of the directory that everything is below."""


class Write(msgspec.Struct, frozen=True):
    """Bytes of a file."""

    file: int
    at: int
    data: bytes


class Resize(msgspec.Struct, frozen=True):
    """A file is cut, or grows with zeros."""

    file: int
    size: int


class Grow(msgspec.Struct, frozen=True):
    """A file is at least so long; never recorded, only left of a write that was lost."""

    file: int
    size: int


class Name(msgspec.Struct, frozen=True):
    """What a name in a directory stands for from now on; None for nothing."""

    directory: int
    name: str
    node: int | None
    is_directory: bool = False


class Rename(msgspec.Struct, frozen=True):
    """Names that change together: one, or the two of a rename."""

    names: tuple[Name, ...]


class Sync(msgspec.Struct, frozen=True):
    """A file or a directory was flushed."""

    node: int


class Mark(msgspec.Struct, frozen=True):
    """Something that was told to whoever asked for the work."""

    text: str


Operation: TypeAlias = Write | Resize | Grow | Rename | Sync | Mark


class Disk(msgspec.Struct, frozen=True):
    """Files and directories by number."""

    files: Mapping[int, bytes]
    names: Mapping[int, Mapping[str, int]]


EMPTY = Disk({}, {TOP: {}})


Tree: TypeAlias = dict[str, bytes | None]
"""Paths below the top with their contents; None for a directory."""


def after(disk: Disk, operations: Iterable[Operation]) -> Disk:
    """The disk once all operations have happened, in this order."""
    files = {number: bytearray(data) for number, data in disk.files.items()}
    names = {number: dict(entries) for number, entries in disk.names.items()}
    for operation in operations:
        match operation:
            case Write(file, at, data):
                content = files.setdefault(file, bytearray())
                _extend(content, at)
                content[at : at + len(data)] = data
            case Resize(file, size):
                content = files.setdefault(file, bytearray())
                _extend(content, size)
                del content[size:]
            case Grow(file, size):
                _extend(files.setdefault(file, bytearray()), size)
            case Rename(changes):
                for change in changes:
                    _set_name(names, change)
            case Sync() | Mark():
                pass
    return Disk({number: bytes(data) for number, data in files.items()}, names)


def _extend(content: bytearray, size: int) -> None:
    content.extend(bytes(max(0, size - len(content))))


def _set_name(names: dict[int, dict[str, int]], change: Name) -> None:
    entries = names.setdefault(change.directory, {})
    if change.node is None:
        entries.pop(change.name, None)
        return
    entries[change.name] = change.node
    if change.is_directory:
        names.setdefault(change.node, {})


def tree_of(disk: Disk, directory: int = TOP, above: str = "") -> Tree:
    """Everything that has a path."""
    found: Tree = {}
    for name, node in sorted(disk.names.get(directory, {}).items()):
        path = f"{above}{name}"
        if node in disk.names:
            found[path] = None
            found |= tree_of(disk, node, f"{path}/")
        else:
            found[path] = disk.files.get(node, b"")
    return found


def unsure(operations: tuple[Operation, ...]) -> frozenset[int]:
    """Places of the operations that no later flush covers."""
    flushed: set[int] = set()
    found: set[int] = set()
    for place in range(len(operations) - 1, -1, -1):
        match operations[place]:
            case Sync(node):
                flushed.add(node)
            case Write(file=node) | Resize(file=node) | Grow(file=node):
                if node not in flushed:
                    found.add(place)
            case Rename(changes):
                if not any(change.directory in flushed for change in changes):
                    found.add(place)
            case Mark():
                pass
    return frozenset(found)


def survivors(operations: tuple[Operation, ...], chance: random.Random) -> Iterator[Operation]:
    """What is left of these operations when the power fails after the last one: one legal way.

    How much is lost differs from way to way: nothing, everything, or a share of names and a share
    of sectors, since each kind of loss shows other mistakes.
    """
    open_places = unsure(operations)
    names_kept, data_kept = chance.choice(_SHARES), chance.choice(_SHARES)
    torn = chance.random() < 0.5
    for place, operation in enumerate(operations):
        if place not in open_places:
            yield operation
        elif isinstance(operation, Write) and torn:
            yield from _torn(operation, data_kept, chance)
        elif chance.random() < (names_kept if isinstance(operation, Rename) else data_kept):
            yield operation
        elif isinstance(operation, Write) and chance.random() < 0.3:
            yield Grow(operation.file, operation.at + len(operation.data))


_SHARES = (0.0, 0.1, 0.5, 0.9, 1.0)


def _torn(write: Write, kept: float, chance: random.Random) -> Iterator[Operation]:
    """Each sector of a write, or not."""
    start, end = write.at, write.at + len(write.data)
    at = start
    while at < end:
        until = min(end, (at // SECTOR + 1) * SECTOR)
        if chance.random() < kept:
            yield Write(write.file, at, write.data[at - start : until - start])
        at = until


def named(disk: Disk, operations: Iterable[Operation], end: str) -> frozenset[int]:
    """Files that ever had a name with this end; `/` stands for every directory."""
    changes = [change for o in operations if isinstance(o, Rename) for change in o.names]
    if end == "/":
        return frozenset(disk.names) | {c.node for c in changes if c.node and c.is_directory}
    known = {
        node for names in disk.names.values() for name, node in names.items() if name.endswith(end)
    }
    return frozenset(known | {c.node for c in changes if c.node and c.name.endswith(end)})


def without_syncs(
    operations: tuple[Operation, ...], nodes: frozenset[int]
) -> tuple[Operation, ...]:
    """The same work by a program that forgets to flush these files and directories."""
    return tuple(o for o in operations if not (isinstance(o, Sync) and o.node in nodes))
