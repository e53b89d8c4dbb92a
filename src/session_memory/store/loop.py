"""What a store keeps for the loop: signals mined from digests, patterns, measured effects."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import Protocol

import msgspec

from session_memory.core.loop.effects import Effect
from session_memory.core.loop.patterns import Candidate, Mined, PatternStatus, Signal
from session_memory.core.schema import Cure, Digest, ErrorSeen


class Minable(msgspec.Struct, frozen=True, gc=False):
    """A digest that was not mined yet, and where its session ran."""

    session: int
    digest: Digest
    repo: str | None
    roots: tuple[str, ...]


class Failures(msgspec.Struct, frozen=True, gc=False):
    """What went wrong in one session, and what helped."""

    counts_as: int
    """The session a sub-agent worked for: both are one piece of evidence."""
    flavor: str
    external_id: str
    at: int | None
    roots: tuple[str, ...]
    errors: tuple[ErrorSeen, ...]
    cures: tuple[Cure, ...]


class Patterns(Protocol):
    """Digests to mine, signals to fold, patterns to keep. Every writing method is a transaction."""

    def unmined(self, among: Collection[int] | None = None) -> list[int]:
        """Sessions, of these or of all, whose digest is new, changed, or from another miner."""
        ...

    def minable(self, sessions: list[int]) -> Iterator[Iterator[Minable]]:
        """The digests of these sessions, many at a time, each read when it is needed."""
        ...

    def save_signals(self, by_session: Iterable[tuple[int, tuple[Signal, ...]]]) -> None:
        """Replace the signals of sessions, except of sessions that were forgotten meanwhile."""
        ...

    def evidence(self, since: int | None = None, repo: str | None = None) -> Iterator[Mined]:
        """Every mined session that counts as evidence, the last captured first.

        Sessions that count as one, sub-agents and whom they worked for, follow each other.
        """
        ...

    def evidence_stamp(self) -> str:
        """A short text that changes with what `evidence` gives."""
        ...

    def failures(self, about: str = "") -> Iterator[Failures]:
        """The errors and cures of every session that counts as evidence, the newest first.

        A store that is elsewhere may leave out those that have nothing in common with an error.
        """
        ...

    def statuses(self) -> dict[str, PatternStatus]:
        """Every known pattern with its status."""
        ...

    def decide(self, pattern: str, status: PatternStatus, now_ms: int) -> None:
        """Record a decision; detection never takes it back."""
        ...

    def restore(self, decided: Iterable[tuple[str, str, str, PatternStatus]], now_ms: int) -> int:
        """Take over decisions (id, kind, type, status) from files; returns how many changed."""
        ...

    def save_candidates(self, candidates: Iterable[Candidate], now_ms: int) -> None:
        """Update the figures of patterns found; undecided ones without evidence are deleted."""
        ...


class Effects(Protocol):
    """The latest figures for each version of a pattern and each method."""

    def save(self, effects: Iterable[Effect]) -> None:
        """Replace what was known of the same versions by the same methods, in one transaction."""
        ...

    def all(self) -> list[Effect]:
        """Everything measured, by pattern, version and method."""
        ...
