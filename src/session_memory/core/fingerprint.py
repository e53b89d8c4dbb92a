"""Recognising an event: a keyed hash of its content, wherever and whenever it was read."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import Protocol

from session_memory.core.hashing import blake2b

SIZE = 8


def event_fingerprint(
    key: bytes, *, kind: str, at: int | None, body: bytes, call_id: str | None, place: str
) -> int:
    """Hash kind, time and content, before redaction (STO-08).

    Copies of an event keep their time, so time tells two equal texts apart; where there is none,
    `place` (native id, or the session's) does, so that strangers never look alike.
    """
    head = f"{kind}\x1f{'' if at is None else at}\x1f{call_id or ''}\x1f"
    if at is None:
        head += place
    return _number(key, head.encode("utf-8", "replace") + b"\x1e", body)


@lru_cache(maxsize=4)
def _keyed(key: bytes) -> blake2b:
    """A hash with this key, to be copied: making a new one takes twice as long."""
    return blake2b(digest_size=SIZE, key=key)


def _number(key: bytes, *parts: bytes) -> int:
    """The hash of the parts, one behind the other, as a number of 64 bits."""
    state = _keyed(key).copy()
    for part in parts:
        state.update(part)
    return int.from_bytes(state.digest(), "big", signed=True)


class _Said(Protocol):
    """An event, read from a log, an export or a store."""

    @property
    def kind(self) -> str: ...
    @property
    def at(self) -> int | None: ...
    @property
    def call_id(self) -> str | None: ...


def was_forgotten(
    marks: Iterable[tuple[bytes, frozenset[int]]], event: _Said, body: bytes, place: str
) -> bool:
    """Whether marks made with other keys name an event, or one equal to it."""
    return any(
        event_fingerprint(
            key, kind=event.kind, at=event.at, body=body, call_id=event.call_id, place=place
        )
        in gone
        for key, gone in marks
    )


def repeated(key: bytes, fingerprint: int, occurrence: int) -> int:
    """The fingerprint of the n-th equal event of a file; the first keeps its own."""
    if occurrence == 0:
        return fingerprint
    return _number(key, f"{fingerprint}\x1f{occurrence}".encode())


def session_name(key: bytes, flavor: str, external_id: str) -> int:
    """The number under which a forgotten session is known."""
    return usage_fingerprint(key, "session:" + flavor, external_id)


def path_name(key: bytes, path: str) -> int:
    """The number under which a forgotten source is known."""
    return usage_fingerprint(key, "source", path)


def fact_name(key: bytes, name: str, value: str) -> int:
    """The number under which a forgotten title, or other fact of a log, is known."""
    return usage_fingerprint(key, "fact:" + name, value)


@lru_cache(maxsize=64)  # a response is several events, one after the other
def usage_fingerprint(key: bytes, flavor: str, response: str) -> int:
    """The number under which one API response is counted once, across files and sessions."""
    return _number(key, f"{flavor}\x1f{response}".encode("utf-8", "replace"))
