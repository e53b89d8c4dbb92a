"""What a store answers to recall: sessions and observations of a project, closures and syncs."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import AbstractContextManager
from typing import Literal, Protocol

import msgspec

from session_memory.core.schema import (
    Cure,
    Observation,
    ObservationType,
    Project,
    RuleStatement,
    SessionEvent,
)
from session_memory.store.search_rank import Hit
from session_memory.store.values import TextFilter


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
    """How much was captured of a session."""

    turns: int = 0
    observations: int = 0
    first_request: str | None = None


class ScopeTotals(msgspec.Struct, frozen=True):
    """How much was observed in a scope."""

    observations: int = 0
    chars: int = 0
    last_at: int | None = None


class Closure(msgspec.Struct, frozen=True):
    """A check whether work is done: requested (`check`), or noticed at capture (`mismatch`)."""

    at: int
    kind: Literal["check", "mismatch"]
    done: bool
    reason: str
    session_id: int | None = None


class ContextSync(msgspec.Struct, frozen=True):
    """A project's pack was written into a file, or skipped for a reason (DIS-04)."""

    at: int
    path: str
    pack_hash: str
    skipped: bool = False
    reason: str | None = None


class Scopes(Protocol):
    """Sessions and observations of one project or one session, reading as few rows as possible."""

    def lines(self, project_id: int) -> list[SessionLine]:
        """The sessions of a project, latest turn first."""
        ...

    def line(self, session_id: int) -> SessionLine | None:
        """One session."""
        ...

    def some_lines(self, sessions: list[int]) -> list[SessionLine]:
        """These sessions, in no particular order."""
        ...

    def project(self, key: str) -> Project | None:
        """The project with this key, without reading the others."""
        ...

    def some_projects(self, ids: Iterable[int]) -> dict[int, Project]:
        """Projects by their numbers, without reading the others."""
        ...

    def counts(self, sessions: list[int]) -> dict[int, SessionCounts]:
        """Counts for each of these sessions."""
        ...

    def totals(self, sessions: list[int]) -> ScopeTotals:
        """Their observations together, without those of an excluded status."""
        ...

    def turns(self, sessions: list[int]) -> int:
        """How many turns they had together."""
        ...

    def observed(
        self, sessions: list[int], types: tuple[ObservationType, ...], limit: int | None = None
    ) -> list[Observation]:
        """Observations of these sessions, oldest first, without those of an excluded status.

        With a limit: the latest ones, and the latest of each session that would have none.
        """
        ...

    def rules(self, sessions: list[int]) -> dict[int, tuple[RuleStatement, ...]]:
        """What users said in these sessions that may be a rule; only those that have any."""
        ...

    def cures(self, sessions: list[int]) -> dict[int, tuple[Cure, ...]]:
        """What made failing things work in these sessions; only those that have any."""
        ...

    def observation(self, name: str) -> Observation | None:
        """One observation by its hash, whatever its status."""
        ...

    def find(self, query: str, where: TextFilter | None = None) -> list[Hit]:
        """Events and observations that match, in one order, best first."""
        ...

    def word_counts(self, words: tuple[str, ...]) -> dict[str, int]:
        """In how many events each word occurs, up to a bound above which it is too common."""
        ...

    def some_observations(self, ids: list[int]) -> dict[int, Observation]:
        """Observations by the number of their row, as a search names them."""
        ...

    def has_tool(self, name: str) -> bool:
        """Whether any event is a call of this tool or its result."""
        ...

    def has_path(self, part: str, where: TextFilter) -> bool:
        """Whether any event of this session or project, or any at all, names a path with it."""
        ...

    def recent_paths(self, where: TextFilter) -> list[str]:
        """Paths that the newest events there name, each once, up to a bound."""
        ...

    def events(self, ids: list[int]) -> list[SessionEvent]:
        """Events by id, in the order given, without texts; those no longer stored are left out."""
        ...

    def revision(self) -> str:
        """Changes whenever anything stored may have changed."""
        ...

    def check_current(self) -> None:
        """Raises StoreTooNew once a newer program has upgraded the store under this one."""
        ...

    def snapshot(self) -> AbstractContextManager[None]:
        """A block in which every question sees the same moment; nothing may be written in it."""
        ...


class Closures(Protocol):
    """Whether work that was called done is done. Mismatches come from observations."""

    def record(self, project_id: int, closure: Closure) -> None:
        """Record that a completion check was requested."""
        ...

    def all(self, project_id: int, session_id: int | None = None) -> list[Closure]:
        """Checks of a project, or of one session of it, oldest first."""
        ...


class Syncs(Protocol):
    """Files that a project's pack was written into."""

    def record(self, project_id: int, sync: ContextSync) -> None:
        """Record that a file was written or skipped."""
        ...

    def all(self, project_id: int) -> list[ContextSync]:
        """Every sync of a project, oldest first."""
        ...
