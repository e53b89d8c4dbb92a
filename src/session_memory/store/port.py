"""What any store promises, as one small protocol for each kind of caller.

Callers name the smallest protocol that has what they use. `tests/contract` calls every method of
every protocol, and holds any implementation to these promises:

1. What a committed `writing()` block stored is readable by every later call, in this process or
   another, and survives a crash or power loss. What was not committed leaves no trace.
2. A cursor and the events read under it become visible together.
3. Texts come back byte for byte, or an error (StoreDamaged); never wrong bytes.
4. Events of a session come in source order: by file, then by place in the file. Arrival order,
   repeats and restarts do not show, except in `seq`.
5. An API response is counted once, whatever number of files and sessions repeat it.
6. Raw text leaves only through `evict`, which keeps session, digest, observations,
   costs and fingerprints.
7. No method of `SessionReader` or `RecallStore.scopes` writes.
8. Values handed in are stored as they are: redaction happens before the store.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import AbstractContextManager
from datetime import date
from typing import TYPE_CHECKING, Protocol, Self

from session_memory.core.cursor import Cursor, Stamp
from session_memory.core.schema import Digest, Observation, Project, Session, SessionEvent
from session_memory.store.checkpoints import CheckpointReader
from session_memory.store.rescans import RescanStore
from session_memory.store.upkeep import MaintenanceStore, RetentionStore
from session_memory.store.values import (
    Elsewhere,
    EventDraft,
    EventPlace,
    Finding,
    Holder,
    LostEvent,
    MarksApplied,
    ObservationQuery,
    OldDigests,
    Repaired,
    ResponseCost,
    SessionFigures,
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
    from session_memory.store.exchange import Exchange
    from session_memory.store.loop import Effects, Patterns
    from session_memory.store.marks import Marks
    from session_memory.store.memories import Memories
    from session_memory.store.scopes import Closures, Scopes, Syncs

__all__ = [
    "EventDraft",
    "Finding",
    "Holder",
    "LostEvent",
    "MaintenanceStore",
    "ObservationQuery",
    "Repaired",
    "RetentionStore",
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


class SessionReader(Protocol):
    """What recall, export and every listing need."""

    def projects(self) -> list[Project]:
        """All projects, by key; one that was merged is part of another."""
        ...

    def found_projects(self) -> list[Project]:
        """All projects as they were found, by key, whether or not they were merged."""
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
        """The session with exactly this native id; None if no agent, or several, have one."""
        ...

    def events(self, session_id: int, *, texts: bool = False) -> Iterator[SessionEvent]:
        """Live events in source order, with their texts when asked for."""
        ...

    def superseded_events(self, session_id: int) -> Iterator[SessionEvent]:
        """Events whose source was rewritten without them; kept as history."""
        ...

    def all_events(self, session_id: int) -> Iterator[SessionEvent]:
        """Live and superseded events with their texts."""
        ...

    def text(self, event: SessionEvent) -> str:
        """The text of one event."""
        ...

    def heights(self) -> dict[int, int]:
        """Session to the number its next event will have."""
        ...

    def digest(self, session_id: int) -> Digest | None:
        """The digest, or None while the session is not analyzed."""
        ...

    def outcomes(self, among: Collection[int] | None = None) -> dict[int, str]:
        """The outcome of every session, of these or of all, that has a digest."""
        ...

    def sessions_by_day(self, since: int) -> dict[date, int]:
        """How many sessions, without sub-agents, began on each day (UTC) since then."""
        ...

    def event_places(self, session_id: int) -> list[EventPlace]:
        """All live events of a session, in source order, without what they say."""
        ...

    def events_at(self, event_ids: Sequence[int]) -> list[SessionEvent]:
        """Live events by their ids, in that order; tokens and pairing belong to whole sessions."""
        ...

    def session_figures(self, since: int) -> list[SessionFigures]:
        """The figures of every digest of a session, without sub-agents, that ended since then."""
        ...

    def response_costs(self, session_id: int) -> list[ResponseCost]:
        """Every counted response of a session that has a time, oldest first."""
        ...

    def digest_versions(self) -> dict[int, int]:
        """The DIGEST_VERSION that made each session's digest; of a merged one, the older."""
        ...

    def old_digests(self) -> OldDigests:
        """How many digests an older version of the program made."""
        ...

    def digest_stamps(self) -> dict[str, str]:
        """Project key to a hash over its digested sessions.

        It changes when a session comes, goes, moves, grows or is distilled again, but not when
        words in its digest are replaced.
        """
        ...

    def observations(self, query: ObservationQuery) -> list[Observation]:
        """Observations that fit, oldest first."""
        ...

    def span(self, flavor: str) -> tuple[int, int | None]:
        """How many sessions of a flavour there are, and when the oldest began."""
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


class WritableStore(Protocol):
    """A store that can be written in transactions."""

    def writing(self) -> AbstractContextManager[Writer]:
        """A write transaction; rolled back when the block raises."""
        ...

    def is_unusable_after(self, error: Exception) -> bool:
        """Whether an error concerns the whole store (disk, lock, damage), not one item in it."""
        ...


class KeyedStore(Protocol):
    """The keys of a store; they never change."""

    fingerprint_key: bytes
    """Key of the hashes that recognise events."""
    tag_key: bytes
    """Key of the tags that stand for redacted secrets."""


class CaptureStore(SessionReader, WritableStore, KeyedStore, Protocol):
    """What a sweep needs before and while it captures."""

    def stamps(self, flavor: str) -> dict[str, tuple[Stamp, int]]:
        """Path to (stamp, parser version) of every source of a flavour."""
        ...

    def cursor(self, path: str) -> Cursor | None:
        """The full cursor of one source."""
        ...

    def sharing(self, source_id: int) -> bool:
        """Whether a session of this source has further sources."""
        ...

    def hashed_roots(self) -> dict[int, str]:
        """Sessions without a place of which a log names the hash of their root."""
        ...

    def set_aside(self, path: str) -> list[Cursor]:
        """How far sources were read that were set aside when the file of that path was cut."""
        ...

    def sole_sessions(self, source_id: int) -> set[int]:
        """The sessions of a source of which it holds what no other source does.

        One without raw text counts as such: what else of it came from where is not known.
        """
        ...

    def is_forgotten(self, flavor: str, external_id: str) -> bool:
        """Whether the user forgot this session, in this store or in another one."""
        ...

    def is_forgotten_source(self, path: str, stamp: Stamp) -> bool:
        """Whether a file holds only forgotten sessions and has not changed since."""
        ...

    def has_new_marks(self) -> bool:
        """Whether the file of forget marks is missing, or holds marks that are not applied yet."""
        ...

    def forgotten_elsewhere(self) -> Elsewhere:
        """Marks of events that were made with other keys than this store's."""
        ...

    def apply_marks(self) -> MarksApplied:
        """Merge the marks of database and file, and drop everything that they name.

        Only while no sweep runs.
        """
        ...

    def unplaced(self) -> list[int]:
        """Sessions without a project, because assigning one failed."""
        ...

    def price_table(self) -> str | None:
        """Version of the price table that responses without a price were last tried with."""
        ...

    def missing_parts(self) -> list[tuple[str, str, str, str]]:
        """Parts that logs lacked: (flavour, native id of the session, part, path of the log)."""
        ...

    def quarantined(self) -> list[tuple[str, int, int]]:
        """(path, byte offset, when noticed) of every damaged line found in logs."""
        ...

    def unread_logs(self) -> list[str]:
        """Paths of logs with damaged lines of which no session came."""
        ...


class DistilStore(SessionReader, WritableStore, CheckpointReader, Protocol):
    """What making digests needs."""

    def unanalyzed(self) -> list[int]:
        """Sessions without a digest of all their events."""
        ...

    def outdated(self, limit: int) -> list[int]:
        """Some sessions distilled by an older DIGEST_VERSION whose raw text is still here."""
        ...

    def evicted_digest(self, session_id: int) -> Digest | None:
        """The digest of the part of a session whose raw text was evicted."""
        ...

    def lost_events(self, session_id: int) -> int:
        """How many events of a session were evicted before a digest was made of them."""
        ...

    def undistilled(self) -> list[Undistilled]:
        """Sessions whose raw text was evicted before a digest was made of it."""
        ...


class ForgetStore(SessionReader, KeyedStore, RescanStore, Protocol):
    """Forgetting sessions, events and words."""

    def projects_only_in(self, sessions: set[int]) -> set[int]:
        """Projects, as they were found, of which these sessions are all there is."""
        ...

    def with_subagents(self, sessions: set[int]) -> set[int]:
        """These sessions and all their sub-agents."""
        ...

    def log_paths(self, sessions: set[int]) -> list[str]:
        """The agents' own files that sessions were read from."""
        ...

    def find_text(self, text: str, *, ignore_case: bool = False) -> list[TextHit]:
        """Every session that contains a text."""
        ...

    def traces(self, text: str, *, ignore_case: bool = False) -> list[str]:
        """Everything that still contains a text, down to the bytes of the files."""
        ...

    def forget_sessions(self, sessions: set[int]) -> set[int]:
        """Forget sessions and their sub-agents; returns sessions that lost copies of events."""
        ...

    def forget_notes(self, in_place: Callable[[str], bool]) -> None:
        """Forget what hooks noted of sessions in such directories whose logs were never read."""
        ...

    def forget_events(self, session_id: int, fingerprints: set[int]) -> int:
        """Forget single events; returns how many went."""
        ...

    def forget_facts(self, words: Callable[[bytes], bytes]) -> None:
        """Mark the facts, such as titles, that hold such words, so that no log brings them back."""
        ...

    def erase_traces(self) -> None:
        """After forgetting: wipe free pages, indexes and the database's log."""
        ...

    def marks(self) -> Marks:
        """All forget marks that the database holds."""
        ...


class RecallStore(SessionReader, Protocol):
    """What an agent is told of a project."""

    @property
    def scopes(self) -> Scopes:
        """Sessions and observations of a project."""
        ...

    @property
    def closures(self) -> Closures:
        """Checks whether work that was called done is done."""
        ...

    @property
    def syncs(self) -> Syncs:
        """Files that a project's pack was written into."""
        ...


class LoopStore(Protocol):
    """What detection, review and measurement keep."""

    @property
    def patterns(self) -> Patterns:
        """Signals and patterns."""
        ...

    @property
    def effects(self) -> Effects:
        """Measured effects of patterns."""
        ...


class BackgroundStore(Protocol):
    """What hooks record and the worker does."""

    @property
    def jobs(self) -> Jobs:
        """Background work."""
        ...

    @property
    def live(self) -> Live:
        """Events recorded by hooks."""
        ...

    @property
    def spend(self) -> Spend:
        """The ledger of model calls."""
        ...


class MemoryStore(SessionReader, KeyedStore, BackgroundStore, Protocol):
    """What memory keeps, and the jobs that make it."""

    @property
    def memories(self) -> Memories:
        """Traces that sessions left for their projects."""
        ...


class ExchangeStore(DistilStore, KeyedStore, Protocol):
    """What export and import need."""

    @property
    def exchange(self) -> Exchange:
        """Moving sessions from one store into another."""
        ...


class Store(
    CaptureStore,
    ExchangeStore,
    RetentionStore,
    ForgetStore,
    MaintenanceStore,
    RecallStore,
    LoopStore,
    MemoryStore,
    Protocol,
):
    """Everything an open store can do. Ask for the smallest of the protocols above that will do."""

    def __enter__(self) -> Self: ...

    def __exit__(self, kind: object, error: BaseException | None, trace: object, /) -> None:
        """Close the store; an error about damage becomes DatabaseDamaged."""
        ...

    def close(self) -> None:
        """Close every file."""
        ...
