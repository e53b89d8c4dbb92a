"""The lines of an export and its manifest: plain values that any program can read.

An export holds no keyed number that could confirm a guess at a redacted secret. The fingerprints of
events are made before redaction, so of those only a one-way mark under a key that stays at home
leaves the store, and a digest goes without its fingerprint.
"""

from __future__ import annotations

from typing import Annotated, Any

import msgspec

from session_memory.core.hashing import blake2b
from session_memory.core.schema import (
    Digest,
    EventKind,
    Observation,
    Origin,
    Project,
    Session,
    ToolClass,
)
from session_memory.store.exchange import Note
from session_memory.store.values import UsageDraft

FORMAT = 1
"""Raised when an older program could misread what a newer one wrote."""
MANIFEST = "manifest.json"
SESSIONS = "sessions.jsonl"
KIND = "session-memory export"


Number = Annotated[int, msgspec.Meta(ge=-(1 << 62), le=1 << 62)]
"""What a database can hold: an export may come from anywhere."""
Place = Annotated[int, msgspec.Meta(ge=0, le=1 << 62)]


class FactLine(msgspec.Struct, frozen=True):
    """What a log states about its session; `log` is its place in the list of logs."""

    log: Place
    name: str
    value: str | Number
    pos: Place


class UsageLine(msgspec.Struct, frozen=True, omit_defaults=True):
    """What one API response cost."""

    key: str
    model: str
    at: Number | None = None
    input: Place = 0
    output: Place = 0
    cache_read: Place = 0
    cache_write_5m: Place = 0
    cache_write_1h: Place = 0
    reasoning: Place = 0
    stated_usd: float | None = None
    usd: float | None = None
    price_table: str | None = None
    sidechain: bool = False


class SessionLine(msgspec.Struct, frozen=True, tag="session", tag_field="record"):
    """A session and all that was made of it; its events follow, one a line."""

    session: Session
    project: Project | None
    logs: tuple[str, ...]
    facts: tuple[FactLine, ...]
    notes: tuple[Note, ...]
    usages: tuple[UsageLine, ...]
    digest: Digest | None
    evicted_digest: Digest | None
    observations: tuple[Observation, ...]
    lasting: tuple[str, ...]
    """Hashes of the observations whose text has gone, and of notes."""


class EventLine(msgspec.Struct, frozen=True, tag="event", tag_field="record", omit_defaults=True):
    """One event with its text."""

    log: Place
    pos: Place
    mark: str
    kind: EventKind
    origin: Origin
    at: Number | None = None
    tool: str | None = None
    tool_class: ToolClass | None = None
    call_id: str | None = None
    is_error: bool = False
    exit_code: Number | None = None
    files: tuple[str, ...] = ()
    command: str | None = None
    response: str | None = None
    label: str | None = None
    exact: bool = False
    """Whether the text is what the log says, to the byte: not redacted, cut or put together."""
    text: str = ""


Line = SessionLine | EventLine


class FileEntry(msgspec.Struct, frozen=True):
    """A file of the export, and how to know that it is whole."""

    name: str
    bytes: int
    sha256: str


class Manifest(msgspec.Struct, frozen=True):
    """What an export holds; written last, so that one that was cut off has none."""

    kind: str
    format: int
    version: str
    """Of the program that wrote it."""
    made_at: int
    store: str
    """Which store it came from: a mark under a key that only that store has."""
    fingerprint_key: str
    """Lets an empty store know these events again in the logs they came from."""
    files: tuple[FileEntry, ...]
    counts: dict[str, int]
    asked: dict[str, Any] = {}
    """The filter it was made with; empty for everything."""


def store_mark(tag_key: bytes) -> str:
    """The name of a store; nobody else can make it."""
    return blake2b(b"store", key=tag_key, digest_size=8).hexdigest()


def event_mark(tag_key: bytes, fingerprint: int) -> str:
    """The name of an event in exports of this store; says nothing about its words."""
    data = b"event" + fingerprint.to_bytes(8, "big", signed=True)
    return blake2b(data, key=tag_key, digest_size=8).hexdigest()


def to_hex(number: int) -> str:
    """A 64-bit key as text: many readers of JSON lose digits of such numbers."""
    return number.to_bytes(8, "big", signed=True).hex()


def from_hex(text: str) -> int:
    """The way back; raises ValueError for anything else."""
    data = bytes.fromhex(text)
    if len(data) != 8:
        raise ValueError(f"{text!r} is no 64-bit key")
    return int.from_bytes(data, "big", signed=True)


def usage_line(usage: UsageDraft) -> UsageLine:
    """A response on its way out."""
    fields: dict[str, Any] = msgspec.structs.asdict(usage)
    return UsageLine(key=to_hex(fields.pop("key")), **fields)


def usage_draft(line: UsageLine, key: int) -> UsageDraft:
    """A response on its way in, under the key this store gives it."""
    fields: dict[str, Any] = msgspec.structs.asdict(line)
    del fields["key"]
    return UsageDraft(key=key, **fields)
