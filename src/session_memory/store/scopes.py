"""What a store promises to recall: who worked where, and whether work called done was done."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Literal, Protocol

import msgspec

from session_memory.core.schema import Observation, ObservationType, SessionEvent


class SessionLine(msgspec.Struct, frozen=True):
    """A session as recall lists it: the few fields that need no other table."""

    id: int
    flavor: str
    external_id: str
    project_id: int | None
    started_at: int | None
    ended_at: int | None
    cwd: str | None
    title: str | None
    client_version: str | None
    source_kind: str
    parent: str | None
    """Native id of the session whose sub-agent this is."""
    low_value: str | None
    label: str | None
    """What its user asked for first (SES-04)."""
    suppressed: bool
    """A program's own prompt was left out of the label."""
    resolved_by: str | None
    """How its project was found (IDN-06)."""
    observed_bytes: int = 0
    """What its observations take."""


class SessionCounts(msgspec.Struct, frozen=True):
    """How much a session said."""

    turns: int = 0
    observations: int = 0
    first_request: str | None = None


class ScopeTotals(msgspec.Struct, frozen=True):
    """All that was observed in a scope, and shown to nobody yet."""

    observations: int = 0
    chars: int = 0
    last_at: int | None = None


class Closure(msgspec.Struct, frozen=True):
    """One look at whether work was done: asked for (`check`), or noticed at capture."""

    at: int
    kind: Literal["check", "mismatch"]
    done: bool
    reason: str
    session_id: int | None = None


class ContextSync(msgspec.Struct, frozen=True):
    """One writing of a project's pack into a file, or why it was left (DIS-04)."""

    at: int
    path: str
    pack_hash: str
    skipped: bool = False
    reason: str | None = None


class Scopes(Protocol):
    """Sessions and observations of one project or one session, read as little as may be."""

    def lines(self, project_id: int) -> list[SessionLine]:
        """The sessions of a project, latest turn first."""
        ...

    def line(self, session_id: int) -> SessionLine | None:
        """One session."""
        ...

    def counts(self, sessions: list[int]) -> dict[int, SessionCounts]:
        """How much each of these sessions said."""
        ...

    def totals(self, sessions: list[int]) -> ScopeTotals:
        """How much they said together, without what is of an excluded status."""
        ...

    def turns(self, sessions: list[int]) -> int:
        """How many turns they had together."""
        ...

    def observed(
        self, sessions: list[int], types: tuple[ObservationType, ...], limit: int | None = None
    ) -> list[Observation]:
        """What these sessions said, oldest first; no excluded status.

        With a limit the latest so many, and the latest of each session that would have none.
        """
        ...

    def observation(self, name: str) -> Observation | None:
        """One observation by its hash, whatever its status."""
        ...

    def events(self, ids: list[int]) -> list[SessionEvent]:
        """Events by id, in the order asked for, without texts; those that went are left out."""
        ...

    def revision(self) -> str:
        """Differs whenever anything stored may differ."""
        ...

    def check_current(self) -> None:
        """Raises StoreTooNew once a newer program has upgraded the store under this one."""
        ...

    def snapshot(self) -> AbstractContextManager[None]:
        """A block of questions that all see one moment; nothing may be written in it."""
        ...


class Closures(Protocol):
    """Whether work called done was done. A mismatch noticed at capture follows observations."""

    def record(self, project_id: int, closure: Closure) -> None:
        """Keep that somebody asked."""
        ...

    def all(self, project_id: int, session_id: int | None = None) -> list[Closure]:
        """What is known of a project, or of one session of it, oldest first."""
        ...


class Syncs(Protocol):
    """Files a project's pack was written into."""

    def record(self, project_id: int, sync: ContextSync) -> None:
        """Keep that a file was written, or left."""
        ...

    def all(self, project_id: int) -> list[ContextSync]:
        """Every one, oldest first."""
        ...
