"""What is exported of each session, as plain values: any store can make them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from session_memory.core.hashing import blake2b
from session_memory.core.loop.effects import Effect
from session_memory.core.loop.patterns import PatternStatus
from session_memory.core.schema import Digest, Session, SessionEvent
from session_memory.store.values import UsageRow

PART = 2000
"""Numbers of sessions that share a part. A session stays in its part however many follow."""

InjectionRecord = tuple[int, tuple[str, ...], tuple[str, ...]]
"""(time, given, held back) of one start of a session."""

encode = msgspec.json.Encoder().encode


class RawEvents(msgspec.Struct, frozen=True):
    """What a session can be distilled from again."""

    events: tuple[SessionEvent, ...]
    evicted: Digest | None = None
    """The digest of the part whose raw text was evicted."""
    lost: int = 0
    """Events evicted before a digest was made of them."""


class ExportedSession(msgspec.Struct, frozen=True):
    """One session with what was distilled from it."""

    session: Session
    owner: int
    """The session a sub-agent worked for; its own number for every other."""
    digest: Digest | None = None
    repo: str | None = None
    """Its project's key, if that has a root: signals of other sessions name no repository."""
    roots: tuple[str, ...] = ()
    injections: tuple[InjectionRecord, ...] = ()
    raw: RawEvents | None = None


class Exported(msgspec.Struct, frozen=True):
    """Everything that is exported besides sessions."""

    statuses: Iterable[tuple[str, PatternStatus]] = ()
    usage: Iterable[UsageRow] = ()
    effects: Iterable[Effect] = ()


def part_name(owner: int) -> str:
    """The part that a session and its sub-agents are in."""
    return f"part-{owner // PART:08}"


def mining_hash(digest: bytes, repo: str | None, roots: Sequence[str]) -> str:
    """A hash of everything that signals are mined from."""
    return blake2b(encode((repo, roots)) + digest, digest_size=16).hexdigest()
