"""What a write transaction of any store promises; see `store.port` for the store itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Protocol

from session_memory.core.cursor import Cursor, Stamp
from session_memory.core.facts import Fact
from session_memory.core.schema import Digest, Observation, Usage
from session_memory.store.values import (
    Checkpoint,
    EventDraft,
    Holder,
    LostEvent,
    SessionHandle,
    UsageDraft,
    Whereabouts,
)

if TYPE_CHECKING:
    from session_memory.core.project.identity import Resolution


class Writer(Protocol):
    """One open write transaction; everything becomes visible together on commit."""

    def source(self, flavor: str, path: str) -> int:
        """The id of a source, made if new."""
        ...

    def save_cursor(self, path: str, cursor: Cursor) -> None:
        """Remember how far a source was read."""
        ...

    def session(self, flavor: str, external_id: str, parent: str | None) -> SessionHandle:
        """The session of that name, made if new."""
        ...

    def is_forgotten(self, flavor: str, external_id: str) -> bool:
        """Whether the user forgot this session."""
        ...

    def leave_source(self, source_id: int, path: str, stamp: Stamp) -> None:
        """Keep no row of a source that holds only forgotten sessions."""
        ...

    def link(self, session: SessionHandle, source_id: int) -> None:
        """Record that a source holds a session."""
        ...

    def holders(self, fingerprints: list[int]) -> dict[int, list[Holder]]:
        """Every session that holds an event of these fingerprints, this one included."""
        ...

    def note_shared(self, fingerprints: set[int]) -> None:
        """Fingerprints that several sessions hold: `settle` decides which session owns them."""
        ...

    def append(self, session: SessionHandle, source_id: int, drafts: list[EventDraft]) -> None:
        """Add new events behind those the session has."""
        ...

    def confirm(self, source_id: int, copies: list[tuple[int, EventDraft]]) -> None:
        """Note that a source holds events the session has already; it may say more about them."""
        ...

    def add_facts(self, session: SessionHandle, source_id: int, facts: list[Fact]) -> None:
        """Merge statements about the session."""
        ...

    def add_usage(self, session: SessionHandle, usages: list[UsageDraft]) -> None:
        """Merge API responses; the same response again keeps the larger figures."""
        ...

    def reprice(self, price: Callable[[Usage], float | None], version: str) -> int:
        """Price responses that no earlier table could; returns how many got a price."""
        ...

    def restart_source(self, source_id: int) -> None:
        """Forget the facts of a source that is about to be read whole once more."""
        ...

    def quarantine(self, source_id: int, offsets: list[int]) -> None:
        """Remember where a source is damaged."""
        ...

    def retire(self, source_id: int, seen: set[int], *, delete: bool) -> int:
        """Events of a re-read source that it no longer holds: superseded, or deleted."""
        ...

    def set_aside(self, source_id: int) -> int:
        """Let the path of a source be that of another file from now on.

        The source stays, under another name, with all that was read from it; returns the id of the
        new one.
        """
        ...

    def holds_beginning(self, aside: int, seen: set[int]) -> bool:
        """Whether these are the first events of a source set aside: its others come later."""
        ...

    def first_lost(self, aside: int) -> LostEvent | None:
        """The first event that only a source set aside holds, if there is any and it is whole."""
        ...

    def keep_aside(self, aside: int) -> None:
        """Keep what a source set aside holds, in the order of the file before any of its cuts.

        What an earlier one of the same file holds as well is that one's: the rest of the file, as
        it was then, is there.
        """
        ...

    def absorb(self, aside: int, source_id: int) -> int:
        """End a source that was set aside: what only it held is superseded, and counted."""
        ...

    def last_turns(self, session: SessionHandle, count: int) -> list[str]:
        """The texts of the session's latest turns, oldest first."""
        ...

    def settle(self, sessions: set[int]) -> set[int]:
        """Derive session fields, forks and counted usage; returns all sessions that changed."""
        ...

    def assign_project(
        self, session_id: int, cwd: str, resolution: Resolution | None, domain: str
    ) -> None:
        """Put a session into its directory's project; one resolved before keeps that project."""
        ...

    def merge_project(self, project_id: int, target_id: int) -> int:
        """Make one project part of another; returns how many sessions moved."""
        ...

    def split_project(self, project_id: int) -> int:
        """Undo a merge; returns how many sessions moved."""
        ...

    def rename_project(self, project_id: int, key: str) -> None:
        """Give a project another key, which must be free."""
        ...

    def whereabouts(self, session_id: int) -> Whereabouts:
        """What logs say about the place a settled session ran in."""
        ...

    def save_digest(self, session_id: int, digest: Digest, low_value: str | None) -> None:
        """Store a digest and mark the session analyzed."""
        ...

    def leave_undistilled(self, session_id: int) -> None:
        """Mark a session evicted that has neither raw text nor a digest."""
        ...

    def save_observations(self, observed: Mapping[int, list[Observation]]) -> None:
        """Replace what was observed of the raw text of sessions.

        Notes and what was observed of text that has gone stay; seen again, one gets the newer time.
        """
        ...

    def save_checkpoint(self, session_id: int, checkpoint: Checkpoint) -> None:
        """Keep where distilling a session stands, until one of these events changes or goes.

        Only those of the latest sessions are kept.
        """
        ...

    def commit(self) -> None:
        """Make everything so far durable and visible, and go on in a new transaction."""
        ...

    def start_over(self) -> None:
        """Take back everything since the last commit, and go on in a new transaction."""
        ...

    def attempt(self) -> AbstractContextManager[None]:
        """A part of the transaction that is taken back alone when it raises; adds no events."""
        ...
