"""Forget marks: what was forgotten and when capture was paused, in a file next to the database.

The database holds the same marks. The file is there for the day the database is not: a store that
is rebuilt, restored or imported into reads it first, so that nothing forgotten comes back.

Marks are keyed hashes, so the file also keeps the keys. A store restored from another machine has
another key; the marks of each key are kept apart, and all of them hold. Marks are only ever added:
merging two files is a set union, in any order, any number of times.

The file is two lines of JSON: a header with a checksum of the second line, and the marks.
"""

from __future__ import annotations

import contextlib
import os
import struct
from collections.abc import Generator, Mapping

import msgspec

from session_memory.atomic_files import drop_unfinished, replace_file
from session_memory.core.hashing import blake2b
from session_memory.core.pauses import Pause, Pauses, merge_pauses
from session_memory.errors import DISK_HINT, Refused, StoreDamaged, StoreError
from session_memory.store.lock import exclusive

NAME = "forget-marks.json"
LOCK = "forget-marks.lock"
KIND = "session-memory forget marks"
FORMAT = 1

Numbers = frozenset[int]
"""Keyed 64-bit hashes."""


class Keys(msgspec.Struct, frozen=True):
    """The two keys of a store: one makes the hashes, the other the tags of redacted secrets."""

    fingerprint: bytes
    tag: bytes


class Forgotten(msgspec.Struct, frozen=True):
    """What was forgotten, as hashes made with one key."""

    events: Numbers = frozenset()
    """Events and responses."""
    sessions: Numbers = frozenset()

    def __or__(self, other: Forgotten) -> Forgotten:
        return Forgotten(self.events | other.events, self.sessions | other.sessions)

    def __bool__(self) -> bool:
        return bool(self.events or self.sessions)


class Marks(msgspec.Struct, frozen=True):
    """Everything that must stay out of a store."""

    by_key: Mapping[Keys, Forgotten] = {}
    pauses: Pauses = ()

    def under(self, fingerprint_key: bytes) -> Forgotten:
        """The marks that a store with this key can compare its own hashes with."""
        merged = Forgotten()
        for keys, forgotten in self.by_key.items():
            if keys.fingerprint == fingerprint_key:
                merged |= forgotten
        return merged

    def other_than(self, fingerprint_key: bytes) -> Mapping[Keys, Forgotten]:
        """The marks made with other keys."""
        return {
            keys: forgotten
            for keys, forgotten in self.by_key.items()
            if keys.fingerprint != fingerprint_key and forgotten
        }


class MarksFile(msgspec.Struct, frozen=True):
    """What the file says: the marks, and the keys of the store that it belongs to."""

    marks: Marks
    keys: Keys | None
    """None while there is no store yet: capture can be paused before the first sweep."""
    checksum: str


def merge(first: Marks, *others: Marks) -> Marks:
    """The union of marks."""
    by_key = dict(first.by_key)
    pauses = first.pauses
    for other in others:
        for keys, forgotten in other.by_key.items():
            by_key[keys] = by_key.get(keys, Forgotten()) | forgotten
        pauses = merge_pauses(pauses, other.pauses)
    return Marks(by_key, pauses)


# the file


class _Header(msgspec.Struct):
    kind: str
    format: int
    checksum: str


class _Section(msgspec.Struct):
    fingerprint_key: bytes
    tag_key: bytes
    events: bytes
    sessions: bytes


class _Body(msgspec.Struct):
    own: int | None
    """Which of the stores is the one next to this file."""
    stores: list[_Section]
    pauses: list[Pause]


def encode(marks: Marks, keys: Keys | None) -> tuple[bytes, str]:
    """The bytes of a file, and their checksum; equal marks give equal bytes."""
    by_key = dict(marks.by_key)
    if keys is not None:
        by_key.setdefault(keys, Forgotten())
    ordered = sorted(by_key, key=lambda pair: (pair.fingerprint, pair.tag))
    sections = [
        _Section(
            pair.fingerprint, pair.tag, _pack(by_key[pair].events), _pack(by_key[pair].sessions)
        )
        for pair in ordered
    ]
    own = None if keys is None else ordered.index(keys)
    body = msgspec.json.encode(_Body(own, sections, sorted(marks.pauses, key=_since)))
    header = _Header(KIND, FORMAT, _checksum(body))
    return b"%b\n%b\n" % (msgspec.json.encode(header), body), header.checksum


def decode(data: bytes, path: str) -> MarksFile:
    """The content of a file; StoreDamaged for anything but what `encode` wrote."""
    head, _, rest = data.partition(b"\n")
    header = _header(head, path)
    body = rest.removesuffix(b"\n")
    if _checksum(body) != header.checksum:
        raise _damaged(path, "its checksum is wrong")
    try:
        read = msgspec.json.decode(body, type=_Body)
        stores = [Keys(section.fingerprint_key, section.tag_key) for section in read.stores]
        forgotten = [
            Forgotten(_unpack(section.events), _unpack(section.sessions)) for section in read.stores
        ]
        keys = None if read.own is None else stores[read.own]
    except (msgspec.DecodeError, struct.error, IndexError) as error:
        raise _damaged(path, str(error)) from None
    marks = Marks(dict(zip(stores, forgotten, strict=True)), tuple(read.pauses))
    return MarksFile(marks, keys, header.checksum)


def _header(line: bytes, path: str) -> _Header:
    try:
        header = msgspec.json.decode(line, type=_Header)
    except msgspec.DecodeError as error:
        raise _damaged(path, str(error)) from None
    if header.kind != KIND or header.format < 1:
        raise _damaged(path, "it is another kind of file")
    if header.format > FORMAT:
        raise Refused(f"a newer session-memory wrote {path}", hint="upgrade session-memory")
    return header


def _damaged(path: str, why: str) -> StoreDamaged:
    return StoreDamaged(
        f"{path} is damaged: {why}",
        hint="it says what you forgot: put it back from a backup. If `store.db` next to it is the"
        " one you always used, delete the file instead: it is made again from that",
    )


def _checksum(body: bytes) -> str:
    return blake2b(body, digest_size=16).hexdigest()


def _pack(numbers: Numbers) -> bytes:
    return struct.pack(f"<{len(numbers)}q", *sorted(numbers))


def _unpack(data: bytes) -> Numbers:
    return frozenset(struct.unpack(f"<{len(data) // 8}q", data))


def _since(pause: Pause) -> int:
    return pause.since


# the file in a store's directory


def path_in(directory: str) -> str:
    """Where the file is."""
    return os.path.join(directory, NAME)


def read_marks(directory: str) -> MarksFile | None:
    """What the file says; None where there is none."""
    path = path_in(directory)
    try:
        with open(path, "rb") as file:
            return decode(file.read(), path)
    except FileNotFoundError:
        return None


def checksum_in(directory: str) -> str | None:
    """The checksum in the file's header, at the price of one line; None where there is no file."""
    path = path_in(directory)
    try:
        with open(path, "rb") as file:
            return _header(file.readline(1024), path).checksum
    except FileNotFoundError:
        return None


def add_marks(directory: str, marks: Marks, keys: Keys | None = None) -> MarksFile:
    """Add marks to the file, made if it is missing; durable on return.

    `keys` are those of the store next to it; without them, those the file names stay.
    """
    path = path_in(directory)
    with unchanging(directory):
        stored = read_marks(directory)
        earlier = stored.marks if stored else Marks()
        keys = keys or (stored.keys if stored else None)
        merged = merge(earlier, marks)
        data, checksum = encode(merged, keys)
        if stored is None or stored.checksum != checksum:
            try:
                replace_file(path, data)
            except OSError as error:
                raise StoreError(f"{path} cannot be written: {error}", hint=DISK_HINT) from error
    return MarksFile(merged, keys, checksum)


def clean_up(directory: str) -> None:
    """Remove what a writer that was killed left."""
    with unchanging(directory):
        drop_unfinished(path_in(directory))


@contextlib.contextmanager
def unchanging(directory: str) -> Generator[None]:
    """Lock the file for the length of the block."""
    with exclusive(os.path.join(directory, LOCK), "another change of the forget marks", wait=True):
        yield


def keys_for_new_store(directory: str) -> Keys:
    """The keys of a store that is made here: those of its predecessor, so that its marks hold."""
    stored = read_marks(directory)
    return (stored.keys if stored else None) or random_keys()


def random_keys() -> Keys:
    """The keys of a store that has no predecessor."""
    return Keys(os.urandom(32), os.urandom(32))


_TRACES = ("store.db", "segments", "pauses.json", "catalog", "memories", "journal")


def are_lost(directory: str) -> bool:
    """Whether a store was here and the file with its marks is not.

    Where its database can still be read the marks are in there; ask only where it cannot.
    """
    there = (os.path.join(directory, name) for name in _TRACES)
    return not os.path.exists(path_in(directory)) and any(os.path.exists(path) for path in there)
