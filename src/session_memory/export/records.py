"""The lines of an export and its manifest: plain values that any program can read.

An export contains nothing that could confirm a guess at a redacted secret. Fingerprints of events
are made before redaction, so only a one-way mark of them leaves the store, under a key that stays
there, and digests are written without their fingerprint.
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
"""Increased when an older program could misread what a newer one wrote."""
MANIFEST = "manifest.json"
SESSIONS = "sessions.jsonl"
KIND = "session-memory store export"


Number = Annotated[int, msgspec.Meta(ge=-(1 << 62), le=1 << 62)]
"""What the database can hold: an export may come from anywhere."""
Position = Annotated[int, msgspec.Meta(ge=0, le=1 << 62)]


class FactLine(msgspec.Struct, frozen=True):
    """What a log states about its session; `log` is its index in the list of logs."""

    log: Position
    name: str
    value: str | Number
    pos: Position


class UsageLine(msgspec.Struct, frozen=True, omit_defaults=True):
    """Tokens and cost of one API response."""

    key: str
    model: str
    at: Number | None = None
    input: Position = 0
    output: Position = 0
    cache_read: Position = 0
    cache_write_5m: Position = 0
    cache_write_1h: Position = 0
    reasoning: Position = 0
    stated_usd: float | None = None
    usd: float | None = None
    price_table: str | None = None
    sidechain: bool = False
    mode: str = ""


class SessionLine(msgspec.Struct, frozen=True, tag="session", tag_field="record"):
    """A session and everything derived from it; its events follow, one per line."""

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
    """Hashes of observations whose text is gone, and of notes."""


class EventLine(msgspec.Struct, frozen=True, tag="event", tag_field="record", omit_defaults=True):
    """One event with its text."""

    log: Position
    pos: Position
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
    """Whether the text is byte for byte that of the log: not redacted, cut or joined."""
    text: str = ""


Line = SessionLine | EventLine


class FileEntry(msgspec.Struct, frozen=True):
    """A file of the export, with its size and hash."""

    name: str
    bytes: int
    sha256: str


class Manifest(msgspec.Struct, frozen=True):
    """What an export contains; written last, so that one that was cut off has none."""

    kind: str
    format: int
    version: str
    """Of the program that wrote it."""
    made_at: int
    store: str
    """The store it came from: a mark under a key that only that store has."""
    fingerprint_key: str
    """With it an empty store recognises these events in the logs they came from."""
    files: tuple[FileEntry, ...]
    counts: dict[str, int]
    asked: dict[str, Any] = {}
    """The filters it was made with; empty for everything."""


def store_mark(tag_key: bytes) -> str:
    """The mark of a store; only that store can make it."""
    return blake2b(b"store", key=tag_key, digest_size=8).hexdigest()


def event_mark(tag_key: bytes, fingerprint: int) -> str:
    """The mark of an event in exports of this store; reveals nothing about its text."""
    data = b"event" + fingerprint.to_bytes(8, "big", signed=True)
    return blake2b(data, key=tag_key, digest_size=8).hexdigest()


def to_hex(number: int) -> str:
    """A 64-bit key as text: many JSON readers lose digits of such numbers."""
    return number.to_bytes(8, "big", signed=True).hex()


def from_hex(text: str) -> int:
    """The key in such a text; raises ValueError for anything else."""
    data = bytes.fromhex(text)
    if len(data) != 8:
        raise ValueError(f"{text!r} is not a 64-bit key")
    return int.from_bytes(data, "big", signed=True)


def usage_line(usage: UsageDraft) -> UsageLine:
    """A response as an export has it."""
    fields: dict[str, Any] = msgspec.structs.asdict(usage)
    return UsageLine(key=to_hex(fields.pop("key")), **fields)


def usage_draft(line: UsageLine, key: int) -> UsageDraft:
    """An exported response under the key this store gives it."""
    fields: dict[str, Any] = msgspec.structs.asdict(line)
    del fields["key"]
    return UsageDraft(key=key, **fields)
