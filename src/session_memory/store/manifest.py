"""What a segment file says about its own texts, so that rows can be made again from it alone.

It names the session, its project and its log files, and holds each event's columns, what the logs
stated about the session, and the responses counted. Everything in it was redacted before. It is
written, rewritten and deleted together with the texts.

Columns compress far better than rows: numbers that rise are kept as steps, hashes as bytes, and a
command that stands in its event's text as a place in that text.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from typing import Any

import msgspec

from session_memory.core.hashing import blake2b
from session_memory.errors import StoreDamaged
from session_memory.store.values import UsageDraft

VERSION = 1


Columns = dict[str, Sequence[Any]]


class EventRow(msgspec.Struct, frozen=True, array_like=True):
    """One event, as far as it is not made again from its text."""

    seq: int
    source: int
    """Index into `Manifest.sources`."""
    pos: int
    at: int | None
    kind: str
    origin: str
    tool: str | None
    tool_class: str | None
    call_id: str | None
    is_error: bool
    exit_code: int | None
    files: str | None
    command: str | None
    usage_key: int | None
    fingerprint: int
    superseded: bool
    label: str | None
    body_at: int
    body_len: int


class StatedFact(msgspec.Struct, frozen=True, array_like=True):
    """What one file states of the session."""

    source: int
    name: str
    value: str | int
    pos: int


class ProjectRow(msgspec.Struct, frozen=True, array_like=True):
    """The project of the session, and how its directory led there."""

    key: str
    root: str | None
    remote: str | None
    worktree_of: str | None
    domain: str | None
    source: str
    confidence: str
    repo: str | None
    resolution: dict[str, Any]
    """What the session's metadata says of it."""


class Manifest(msgspec.Struct, frozen=True):
    """Whose texts a segment holds."""

    key: bytes
    """Identifies the store's fingerprint key, see `key_mark`."""
    flavor: str
    external_id: str
    parent: str | None
    sources: tuple[tuple[str, str], ...]
    """(flavour, path)."""
    columns: Columns
    """The events, by the names of `EventRow`."""
    facts: tuple[StatedFact, ...] = ()
    usages: tuple[UsageDraft, ...] = ()
    project: ProjectRow | None = None


class _Packed(msgspec.Struct, array_like=True):
    version: int
    key: bytes
    flavor: str
    external_id: str
    parent: str | None
    sources: tuple[tuple[str, str], ...]
    columns: list[Any]
    facts: tuple[StatedFact, ...]
    usages: list[Any]
    project: ProjectRow | None


_encode = msgspec.msgpack.Encoder().encode
_USAGE_FIELDS = UsageDraft.__struct_fields__
_RISING = ("seq", "pos", "at", "body_at")
_FIELDS = EventRow.__struct_fields__


def key_mark(fingerprint_key: bytes) -> bytes:
    """Identifies the key: fingerprints made with another one cannot be compared."""
    return blake2b(b"manifest", digest_size=8, key=fingerprint_key).digest()


def encode(manifest: Manifest, text: bytes) -> bytes:
    """The bytes of a manifest; `text` is the text of its segment."""
    columns: dict[str, Any] = dict(manifest.columns)
    columns["command"] = _places(manifest.columns, text)
    for name in _RISING:
        columns[name] = _steps(columns[name])
    columns["fingerprint"] = array("q", columns["fingerprint"]).tobytes()
    columns["usage_key"] = _numbered(columns["usage_key"])
    usages = [[getattr(usage, name) for usage in manifest.usages] for name in _USAGE_FIELDS]
    return _encode(
        _Packed(
            VERSION,
            manifest.key,
            manifest.flavor,
            manifest.external_id,
            manifest.parent,
            manifest.sources,
            [columns[name] for name in _FIELDS],
            manifest.facts,
            usages,
            manifest.project,
        )
    )


def decode(data: bytes, text: bytes) -> Manifest:
    """What `encode` wrote; StoreDamaged for anything else."""
    try:
        packed = msgspec.msgpack.decode(data, type=_Packed)
        return Manifest(
            packed.key,
            packed.flavor,
            packed.external_id,
            packed.parent,
            packed.sources,
            _columns(packed.columns, text),
            packed.facts,
            tuple(UsageDraft(*values) for values in zip(*packed.usages, strict=True)),
            packed.project,
        )
    except (msgspec.DecodeError, ValueError, TypeError, LookupError) as error:
        raise StoreDamaged(f"a segment does not say whose it is: {error}") from None


def _columns(packed: list[Any], text: bytes) -> Columns:
    columns = dict(zip(_FIELDS, packed, strict=True))
    for name in _RISING:
        columns[name] = _sums(columns[name])
    hashes = array("q")
    hashes.frombytes(columns["fingerprint"])
    columns["fingerprint"] = list(hashes)
    columns["usage_key"] = _looked_up(columns["usage_key"])
    places = zip(columns["command"], columns["body_at"], columns["body_len"], strict=True)
    columns["command"] = [_command(place, text[at : at + size]) for place, at, size in places]
    return columns


def events(columns: Columns) -> list[EventRow]:
    """The events as rows."""
    return [EventRow(*values) for values in zip(*(columns[n] for n in _FIELDS), strict=True)]


def _steps(values: Sequence[int | None]) -> list[int | None]:
    """Each number as the step from the one before it."""
    steps: list[int | None] = []
    before = 0
    for number in values:
        if number is None:
            steps.append(None)
        else:
            steps.append(number - before)
            before = number
    return steps


def _sums(steps: Sequence[int | None]) -> list[int | None]:
    values: list[int | None] = []
    total = 0
    for step in steps:
        if step is not None:
            total += step
        values.append(None if step is None else total)
    return values


def _numbered(values: Sequence[int | None]) -> tuple[bytes, list[int]]:
    """Hashes that repeat: each once, and which of them every event has; 0 for none."""
    places: dict[int, int] = {}
    used = [0 if key is None else places.setdefault(key, len(places) + 1) for key in values]
    return array("q", places).tobytes(), used


def _looked_up(packed: tuple[bytes, list[int]]) -> list[int | None]:
    hashes = array("q")
    hashes.frombytes(packed[0])
    return [hashes[place - 1] if place else None for place in packed[1]]


def _places(columns: Columns, text: bytes) -> list[str | int | None]:
    """Where in its event's text a command stands, in the words of JSON; else the command itself."""
    stated: list[str | int | None] = []
    encode = msgspec.json.encode
    places = zip(columns["command"], columns["body_at"], columns["body_len"], strict=True)
    for command, start, length in places:
        if command is None:
            stated.append(None)
            continue
        at = text.find(encode(command), start, start + length)
        stated.append(command if at < 0 else at - start)
    return stated


def _command(place: str | int | None, body: bytes) -> str | None:
    if not isinstance(place, int):
        return place
    end = place + 1
    while body[end] != _QUOTE:  # the next quote that no backslash escapes
        end += 2 if body[end] == _BACKSLASH else 1
    return msgspec.json.decode(body[place : end + 1], type=str)


_QUOTE, _BACKSLASH = b'"\\'
