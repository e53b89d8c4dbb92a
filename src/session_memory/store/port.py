"""What any store promises. `tests/contract` holds every implementation to it.

Promises:
1. What a committed `writing()` block stored is readable by every later call, in this process or
   another, and survives a crash or power loss. What was not committed left no trace.
2. A cursor and the events read under it become visible together.
3. Texts come back byte for byte, or an error (StoreDamaged); never wrong bytes.
4. Events of a session come in source order: by file, then by place in the file. Arrival order,
   repeats and restarts do not show, except in `seq`.
5. An API response is counted once, whatever number of files and sessions repeat it.
6. Raw text leaves only through `evict`, which keeps session, digest, observations,
   costs and fingerprints.
7. Nothing is written unless a `writing()` block, `evict`, `compact` or `sweep_orphans` says so.
8. Values handed in are stored as they are: redaction happens before the store.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Protocol, Self

from session_memory.core.cursor import Cursor, Stamp
from session_memory.core.retention import Eviction, RawSession, StoreUsage
from session_memory.core.schema import Digest, Observation, Project, Session, SessionEvent
from session_memory.store.values import (
    Elsewhere,
    EventDraft,
    Finding,
    Holder,
    MarksApplied,
    ObservationQuery,
    Repaired,
    SessionHandle,
    SessionQuery,
    StoreInfo,
    TextFilter,
    TextHit,
    Undistilled,
    UsageDraft,
    UsageGroup,
    UsageRow,
)
from session_memory.store.writer import Writer

if TYPE_CHECKING:  # imported lazily by the features that use them, not with every store
    from session_memory.store.background import Jobs, Live, Spend
    from session_memory.store.backups import Progress
    from session_memory.store.effects import Effects
    from session_memory.store.exchange import Exchange
    from session_memory.store.marks import Marks
    from session_memory.store.memories import Memories
    from session_memory.store.patterns import Patterns
    from session_memory.store.scopes import Closures, Scopes, Syncs

__all__ = [
    "EventDraft",
    "Finding",
    "Holder",
    "ObservationQuery",
    "Repaired",
    "SessionHandle",
    "SessionQuery",
    "Store",
    "StoreInfo",
    "TextFilter",
    "TextHit",
    "UsageDraft",
    "UsageGroup",
    "UsageRow",
    "Writer",
]


class Store(Protocol):
    """A place that keeps sessions, and the questions it answers."""

    fingerprint_key: bytes
    tag_key: bytes

    @property
    def jobs(self) -> Jobs:
        """Background work."""
        ...

    @property
    def live(self) -> Live:
        """What hooks told."""
        ...

    @property
    def effects(self) -> Effects:
        """What measuring found."""
        ...

    @property
    def patterns(self) -> Patterns:
        """Signals and patterns."""
        ...

    @property
    def memories(self) -> Memories:
        """What sessions left for their projects."""
        ...

    @property
    def spend(self) -> Spend:
        """The ledger of model calls."""
        ...

    @property
    def scopes(self) -> Scopes:
        """Sessions and observations of a project, for recall."""
        ...

    @property
    def closures(self) -> Closures:
        """Whether work called done was done."""
        ...

    @property
    def syncs(self) -> Syncs:
        """Files a project's pack was written into."""
        ...

    @property
    def exchange(self) -> Exchange:
        """Moving sessions from one store into another."""
        ...

    def __enter__(self) -> Self: ...

    def __exit__(self, kind: object, error: BaseException | None, trace: object, /) -> None:
        """Close the store; an error about damage becomes DatabaseDamaged."""
        ...

    def info(self) -> StoreInfo:
        """Counts and sizes."""
        ...

    def stamps(self, flavor: str) -> dict[str, tuple[Stamp, int]]:
        """Path to (stamp, parser version) of every source of a flavour."""
        ...

    def cursor(self, path: str) -> Cursor | None:
        """The full cursor of one source."""
        ...

    def sharing(self, source_id: int) -> bool:
        """Whether a session of this source has further sources."""
        ...

    def span(self, flavor: str) -> tuple[int, int | None]:
        """How many sessions of a flavour there are, and when the oldest began."""
        ...

    def is_forgotten_source(self, path: str, stamp: Stamp) -> bool:
        """Whether a file is known to tell of forgotten sessions only, and has not changed."""
        ...

    def has_new_marks(self) -> bool:
        """Whether the file of forget marks is missing, or holds marks that are not applied yet."""
        ...

    def forgotten_elsewhere(self) -> Elsewhere:
        """Marks of events that were made with other keys than this store's."""
        ...

    def marks(self) -> Marks:
        """All forget marks that the database holds."""
        ...

    def apply_marks(self) -> MarksApplied:
        """Give the store and the file beside it the marks of both; drop what they say is gone.

        Only while no sweep runs.
        """
        ...

    def projects(self) -> list[Project]:
        """All projects, by key."""
        ...

    def sessions(self, query: SessionQuery) -> list[Session]:
        """Sessions that fit, newest first."""
        ...

    def session(self, session_id: int) -> Session:
        """One session by our id."""
        ...

    def find_session(self, reference: str) -> Session:
        """One session as a person names it: by number or native id, see core.session_reference."""
        ...

    def own_session(self, native_id: str, flavor: str | None = None) -> Session | None:
        """The session an agent itself calls so, whole; None where none or several agents do."""
        ...

    def events(self, session_id: int, *, texts: bool = False) -> Iterator[SessionEvent]:
        """Live events in source order, with their texts when asked for."""
        ...

    def all_events(self, session_id: int) -> Iterator[SessionEvent]:
        """Live and superseded events with their texts."""
        ...

    def superseded_events(self, session_id: int) -> Iterator[SessionEvent]:
        """Events whose source was rewritten without them; kept as history."""
        ...

    def text(self, event: SessionEvent) -> str:
        """The text of one event."""
        ...

    def heights(self) -> dict[int, int]:
        """Session to the number its next event will have: whatever is above is new."""
        ...

    def digest(self, session_id: int) -> Digest | None:
        """The digest, or None while the session is not analyzed."""
        ...

    def outcomes(self) -> dict[int, str]:
        """The outcome of every session that has a digest."""
        ...

    def observations(self, query: ObservationQuery) -> list[Observation]:
        """Observations that fit, oldest first."""
        ...

    def evicted_digest(self, session_id: int) -> Digest | None:
        """The digest of the part of a session whose raw text was evicted."""
        ...

    def unplaced(self) -> list[int]:
        """Sessions that have no project, because giving them one failed."""
        ...

    def missing_parts(self) -> list[tuple[str, str, str, str]]:
        """Parts that logs lacked: (flavour, native id of the session, part, path of the log)."""
        ...

    def lost_events(self, session_id: int) -> int:
        """How many events of a session went before a digest was made of them."""
        ...

    def undistilled(self) -> list[Undistilled]:
        """Sessions whose raw text went before a digest was made of it."""
        ...

    def unanalyzed(self) -> list[int]:
        """Sessions that need a (new) digest, or that a better observer has not read yet."""
        ...

    def usage(
        self, group: UsageGroup, since: int | None = None, until: int | None = None
    ) -> list[UsageRow]:
        """Counted tokens and dollars, grouped."""
        ...

    def search(
        self, query: str, limit: int = 20, where: TextFilter | None = None
    ) -> list[tuple[int, float]]:
        """(event id, score) of the events that match best, over both indexes."""
        ...

    def writing(self) -> AbstractContextManager[Writer]:
        """A write transaction; rolled back when the block raises."""
        ...

    def is_unusable_after(self, error: Exception) -> bool:
        """Whether an error tells of the whole store (disk, lock, damage), not of one item in it."""
        ...

    def raw_usage(self) -> StoreUsage:
        """Bytes that count against the caps: segments and the estimate for rows and index."""
        ...

    def oldest_analyzed(self) -> int | None:
        """When the raw text of an analyzed session that has been here longest was captured."""
        ...

    def raw_sessions(self) -> list[RawSession]:
        """Sessions whose raw text is here, with their share of the usage."""
        ...

    def evict(self, evictions: list[Eviction], now_ms: int) -> int:
        """Drop raw text; returns bytes of segment files given back."""
        ...

    def with_subagents(self, sessions: set[int]) -> set[int]:
        """These sessions and all their sub-agents."""
        ...

    def forget_sessions(self, sessions: set[int]) -> set[int]:
        """Forget sessions and their sub-agents; returns sessions that lost copies of events."""
        ...

    def log_paths(self, sessions: set[int]) -> list[str]:
        """The agents' own files that sessions were read from."""
        ...

    def forget_events(self, session_id: int, fingerprints: set[int]) -> int:
        """Forget single events; returns how many went."""
        ...

    def find_text(self, text: str, *, ignore_case: bool = False) -> list[TextHit]:
        """Every session in which a text stands."""
        ...

    def traces(self, text: str) -> list[str]:
        """Every place where a text still stands, down to the bytes of the files."""
        ...

    def rewrite(self, session_id: int, edit: Callable[[SessionEvent], SessionEvent | None]) -> int:
        """Replace or drop events of a session; returns how many changed."""
        ...

    def forget_facts(self, words: Callable[[bytes], bytes]) -> None:
        """Mark the facts, such as titles, that hold such words: no log brings them back."""
        ...

    def replace_words(self, words: Callable[[bytes], bytes]) -> set[int]:
        """Replace words in digests and facts, given as JSON; returns the changed sessions."""
        ...

    def erase_traces(self) -> None:
        """After forgetting: leave nothing in free pages, indexes or logs."""
        ...

    def sweep_orphans(self) -> int:
        """Remove segment files that no row points at; returns how many.

        Also finishes an erasing that was cut off.
        """
        ...

    def crowded(self, limit: int) -> list[int]:
        """Sessions with more segments than `limit`."""
        ...

    def compact(self, session_id: int) -> int:
        """Join a session's segments into one; returns how many went."""
        ...

    def fsck(self) -> list[Finding]:
        """Check every row, segment and index entry."""
        ...

    def quick_check(self) -> str:
        """A quick check of the database: 'ok', or what is wrong."""
        ...

    def quarantined(self) -> list[tuple[str, int, int]]:
        """(path, byte offset, when noticed) of every damaged line that is known."""
        ...

    def repair(self, layer: str, *, dry_run: bool) -> list[Repaired]:
        """Mend one layer: orphans, segments, counts, usage or index; or say what it needs."""
        ...

    def dump(self) -> Iterator[dict[str, Any]]:
        """The canonical content: equal for equal logs, whatever way they came in."""
        ...

    def backup(
        self, target: str, progress: Progress | None = None, *, replace: bool = False
    ) -> int:
        """Copy everything, consistent and checked, to a new directory; returns bytes written.

        With `replace`, an earlier backup there gives way once the new one is complete.
        """
        ...

    def close(self) -> None:
        """Let go of files."""
        ...
