"""`SqliteStore`: store.port.Store over one SQLite file and a directory of segments."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Collection, Generator, Iterator, Sequence
from datetime import date
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import apsw
import msgspec

from session_memory.atomic_files import make_directory
from session_memory.core.retention.plan import Eviction, RawSession, StoreUsage
from session_memory.core.schema import (
    Digest,
    Observation,
    Project,
    Session,
    SessionEvent,
)
from session_memory.errors import (
    DatabaseDamaged,
    StoreDamaged,
    StoreError,
    StoreLocked,
    StoreMissing,
)
from session_memory.store import swap
from session_memory.store.damage import (
    DATABASE,
    Damage,
    absent,
    has_segments,
    known_damage,
    refuse_no_file,
)
from session_memory.store.directory import check_directory
from session_memory.store.failures import describe, is_damage
from session_memory.store.lock import exclusive
from session_memory.store.marks import keys_for_new_store
from session_memory.store.segments import DirectorySegments, SegmentReader
from session_memory.store.sqlite import listings, projects, queries, retention
from session_memory.store.sqlite.connection import (
    DAMAGE_ERRORS,
    DISK_ERRORS,
    UNUSABLE,
    Database,
    check_version,
    connect,
    create,
    damaged,
    disk_error,
    migrate,
    rows,
    schema_version,
    telling_damage,
    value,
)
from session_memory.store.sqlite.forget_with_marks import ForgetWithMarks
from session_memory.store.sqlite.sources import SourceReads
from session_memory.store.values import EventPlace, ResponseCost, SessionFigures

if TYPE_CHECKING:
    from session_memory.store.backups import Progress
    from session_memory.store.port import (
        Finding,
        ObservationQuery,
        OldDigests,
        Repaired,
        SessionQuery,
        StoreInfo,
        TextFilter,
        UsageGroup,
        UsageRow,
    )
    from session_memory.store.sqlite.closures import SqliteClosures, SqliteSyncs
    from session_memory.store.sqlite.effects import SqliteEffects
    from session_memory.store.sqlite.exchange import SqliteExchange
    from session_memory.store.sqlite.jobs import SqliteJobs
    from session_memory.store.sqlite.live import SqliteLive
    from session_memory.store.sqlite.memories import SqliteMemories
    from session_memory.store.sqlite.patterns import SqlitePatterns
    from session_memory.store.sqlite.scopes import SqliteScopes
    from session_memory.store.sqlite.spend import SqliteSpend
    from session_memory.store.sqlite.writer import SqliteWriter

SEGMENTS = "segments"
Topic = TypeVar("Topic")


def open_store(
    directory: str, now_ms: int, *, create_missing: bool = False, read_only: bool = False
) -> SqliteStore:
    """Open the store in a directory, bringing its schema up to date when it may be written."""
    check_directory(directory)
    swap.finish(directory)  # a restore that was cut off: before anybody sees half of it
    path = os.path.join(directory, DATABASE)
    refuse_no_file(path)
    if create_missing:
        damage = known_damage(directory)
        if damage and (damage.in_place or not damage.finished):
            raise DatabaseDamaged(damage.message)
        if not (os.path.exists(path) and os.path.getsize(path)):
            _create(directory, now_ms, damage)
    connection = connect(path, read_only=read_only)
    try:
        with telling_damage():
            if schema_version(connection) == 0 and has_segments(directory):
                raise absent(directory)
            if read_only:
                check_version(connection)
                if schema_version(connection) == 0:  # a first sweep was cut off, or runs just now
                    raise StoreMissing(f"nothing was stored yet at {path}")
            else:
                migrate(connection, now_ms, partial(keys_for_new_store, directory))
            return SqliteStore(connection, directory, now_ms)
    except BaseException:
        connection.close()
        raise


def _create(directory: str, now_ms: int, damage: Damage | None) -> None:
    """Make an empty store; after damage it continues the keys and forgettings of the lost one."""
    if damage is None and has_segments(directory):
        raise absent(directory)
    make_directory(directory)
    # Two processes that switch a new file to write-ahead logging at once collide.
    with exclusive(directory, "opening", wait=True):
        path = os.path.join(directory, DATABASE)
        if damage is not None and not os.path.exists(path):
            from session_memory.store.sqlite.replacement import make_replacement

            make_replacement(directory, damage, now_ms)
            return
        create(path)
        fresh = connect(path)
        migrate(fresh, now_ms, partial(keys_for_new_store, directory))
        fresh.close()


class SqliteStore(ForgetWithMarks, SourceReads):
    """See store.port.Store. What only some features use is imported when they do."""

    def __init__(self, connection: Database, directory: str, now_ms: int) -> None:
        self._db = connection
        self._directory = directory
        self._topics: dict[object, Any] = {}
        self._now = now_ms
        self.segments = DirectorySegments(os.path.join(directory, SEGMENTS))
        self._reader = SegmentReader(self.segments)
        self.fingerprint_key = self._key("fingerprint_key")
        self.tag_key = self._key("tag_key")

    def _key(self, name: str) -> bytes:
        key = value(self._db, "SELECT value FROM meta WHERE name = ?", (name,))
        if not isinstance(key, bytes):
            raise DatabaseDamaged(f"the database has lost its {name}")
        return key

    def close(self) -> None:
        """See store.port.Store."""
        self._db.close()

    def __enter__(self) -> SqliteStore:
        return self

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        self.close()
        if error is not None and is_damage(error):
            raise damaged(error, os.path.join(self._directory, DATABASE)) from error

    # topics: an unchanged sweep uses none, and loading all takes as long as looking at the logs

    def _topic(self, make: Callable[..., Topic], *settings: str) -> Topic:
        """What `make` makes of the connection, the same one every time."""
        topic: Any = self._topics.get(make)
        if topic is None:
            topic = self._topics[make] = make(self._db, *settings)
        return topic

    @property
    def jobs(self) -> SqliteJobs:
        """See store.port.Store."""
        from session_memory.store.sqlite.jobs import SqliteJobs

        return self._topic(SqliteJobs)

    @property
    def live(self) -> SqliteLive:
        """See store.port.Store."""
        from session_memory.store.sqlite.live import SqliteLive

        return self._topic(SqliteLive)

    @property
    def effects(self) -> SqliteEffects:
        """See store.port.Store."""
        from session_memory.store.sqlite.effects import SqliteEffects

        return self._topic(SqliteEffects)

    @property
    def exchange(self) -> SqliteExchange:
        """See store.port.Store."""
        from session_memory.store.sqlite.exchange import SqliteExchange

        return self._topic(SqliteExchange)

    @property
    def scopes(self) -> SqliteScopes:
        """See store.port.Store."""
        from session_memory.store.sqlite.scopes import SqliteScopes

        return self._topic(SqliteScopes)

    @property
    def closures(self) -> SqliteClosures:
        """See store.port.Store."""
        from session_memory.store.sqlite.closures import SqliteClosures

        return self._topic(SqliteClosures)

    @property
    def syncs(self) -> SqliteSyncs:
        """See store.port.Store."""
        from session_memory.store.sqlite.closures import SqliteSyncs

        return self._topic(SqliteSyncs)

    @property
    def memories(self) -> SqliteMemories:
        """See store.port.Store."""
        from session_memory.store.sqlite.memories import SqliteMemories

        return self._topic(SqliteMemories)

    @property
    def patterns(self) -> SqlitePatterns:
        """See store.port.Store."""
        from session_memory.store.sqlite.patterns import SqlitePatterns

        return self._topic(SqlitePatterns)

    @property
    def spend(self) -> SqliteSpend:
        """See store.port.Store."""
        from session_memory.store.sqlite.spend import SqliteSpend

        return self._topic(SqliteSpend, os.path.join(self._directory, DATABASE))

    # writing

    @contextlib.contextmanager
    def writing(self) -> Generator[SqliteWriter]:
        """See store.port.Store."""
        from session_memory.store.sqlite.writer import SqliteWriter  # 20 ms that readers save

        writer = SqliteWriter(self._db, self._reader, self.fingerprint_key, self._now)
        try:
            writer.begin()
            yield writer
            writer.finish()
        except (apsw.BusyError, apsw.LockedError):
            writer.rollback()
            raise StoreLocked("another process is writing to the store") from None
        except (*DISK_ERRORS, *DAMAGE_ERRORS) as error:
            writer.rollback()
            raise (damaged if is_damage(error) else disk_error)(error) from error
        except BaseException:
            writer.rollback()
            raise

    def is_unusable_after(self, error: Exception) -> bool:
        """See store.port.Store."""
        if isinstance(error, StoreError):
            return type(error) is not StoreDamaged  # that may be one segment of one session
        return isinstance(error, UNUSABLE)

    # reading

    def info(self) -> StoreInfo:
        """See store.port.Store."""
        from session_memory.store.sqlite import figures

        return figures.store_info(self._db, self._directory)

    def projects(self) -> list[Project]:
        """See store.port.Store."""
        return projects.merged(self._db)

    def found_projects(self) -> list[Project]:
        """See store.port.Store."""
        return projects.all_as_found(self._db)

    def projects_only_in(self, sessions: set[int]) -> set[int]:
        """See store.port.Store."""
        return projects.only_in(self._db, msgspec.json.encode(sorted(sessions)).decode())

    def sessions(self, query: SessionQuery) -> list[Session]:
        """See store.port.Store."""
        return queries.sessions(self._db, query)

    def session(self, session_id: int) -> Session:
        """See store.port.Store."""
        return queries.session(self._db, session_id)

    def find_session(self, reference: str) -> Session:
        """See store.port.Store."""
        return queries.find_session(self._db, reference)

    def own_session(self, native_id: str, flavor: str | None = None) -> Session | None:
        """See store.port.Store."""
        return queries.own_session(self._db, native_id, flavor)

    def events(self, session_id: int, *, texts: bool = False) -> Iterator[SessionEvent]:
        """See store.port.Store."""
        return queries.events(self._db, session_id, self._reader if texts else None)

    def all_events(self, session_id: int) -> Iterator[SessionEvent]:
        """See store.port.Store."""
        yield from self.events(session_id, texts=True)
        yield from self.superseded_events(session_id)

    def superseded_events(self, session_id: int) -> Iterator[SessionEvent]:
        """See store.port.Store."""
        return queries.events(self._db, session_id, self._reader, superseded=True)

    def text(self, event: SessionEvent) -> str:
        """See store.port.Store."""
        return queries.text(self._db, event.id, self._reader)

    def heights(self) -> dict[int, int]:
        """See store.port.Store."""
        return dict(rows(self._db, "SELECT id, next_seq FROM session WHERE next_seq > 0"))

    def digest(self, session_id: int) -> Digest | None:
        """See store.port.Store."""
        return queries.digest(self._db, session_id)

    def observations(self, query: ObservationQuery) -> list[Observation]:
        """See store.port.Store."""
        from session_memory.store.sqlite import observations

        return observations.observations(self._db, query)

    def outcomes(self, among: Collection[int] | None = None) -> dict[int, str]:
        """See store.port.Store."""
        return listings.outcomes(self._db, among)

    def sessions_by_day(self, since: int) -> dict[date, int]:
        """See store.port.Store."""
        return listings.sessions_by_day(self._db, since)

    def event_places(self, session_id: int) -> list[EventPlace]:
        """See store.port.Store."""
        return listings.event_places(self._db, session_id)

    def events_at(self, event_ids: Sequence[int]) -> list[SessionEvent]:
        """See store.port.Store."""
        by_id = {event.id: event for event in queries.events_by_id(self._db, list(event_ids))}
        return [by_id[event_id] for event_id in event_ids if event_id in by_id]

    def session_figures(self, since: int) -> list[SessionFigures]:
        """See store.port.Store."""
        return listings.session_figures(self._db, since)

    def response_costs(self, session_id: int) -> list[ResponseCost]:
        """See store.port.Store."""
        return listings.response_costs(self._db, session_id)

    def digest_versions(self) -> dict[int, int]:
        """See store.port.Store."""
        sql = "SELECT session_id, coalesce(json_extract(body, '$.version'), 1) FROM digest"
        return dict(rows(self._db, sql))

    def old_digests(self) -> OldDigests:
        """See store.port.Store."""
        return retention.old_digests(self._db)

    def digest_stamps(self) -> dict[str, str]:
        """See store.port.Store."""
        return queries.digest_stamps(self._db)

    def evicted_digest(self, session_id: int) -> Digest | None:
        """See store.port.Store."""
        return queries.digest(self._db, session_id, "evicted_digest")

    def usage(
        self, group: UsageGroup, since: int | None = None, until: int | None = None
    ) -> list[UsageRow]:
        """See store.port.Store."""
        from session_memory.store.sqlite import usage

        return usage.usage(self._db, group, since, until)

    def search(
        self, query: str, limit: int = 20, where: TextFilter | None = None
    ) -> list[tuple[int, float]]:
        """See store.port.Store."""
        from session_memory.store.sqlite import search

        return search.search(self._db, query, limit, where)

    # aging

    def raw_usage(self) -> StoreUsage:
        """See store.port.Store."""
        return retention.raw_usage(self._db)

    def oldest_analyzed(self) -> int | None:
        """See store.port.Store."""
        return retention.oldest_analyzed(self._db)

    def raw_sessions(self) -> list[RawSession]:
        """See store.port.Store."""
        return retention.raw_sessions(self._db)

    def evict(self, evictions: list[Eviction], now_ms: int) -> int:
        """See store.port.Store."""
        return retention.evict(self._db, self.segments, evictions, now_ms)

    def sweep_orphans(self) -> int:
        """See store.port.Store."""
        from session_memory.store.sqlite import forget, reindex

        # While a damaged database is kept aside, its rows may know what ours do not.
        safe = known_damage(self._directory) is None
        removed = retention.sweep_orphans(self._db, self.segments) if safe else 0
        forget.finish_erasing(self._db, self.segments)
        reindex.continue_indexing(self._db, self.segments)
        return removed

    def compact(self, session_id: int, at_least: int = 2) -> int:
        """See store.port.Store."""
        return retention.compact(self._db, self.segments, session_id, at_least)

    def crowded(self, limit: int) -> list[int]:
        """See store.port.Store."""
        return retention.crowded(self._db, limit)

    # whole-store operations

    def fsck(self, progress: Progress | None = None) -> list[Finding]:
        """See store.port.Store."""
        from session_memory.store.sqlite import check

        return check.fsck(self._db, self.segments, progress or check.unseen)

    def repair(self, layer: str, *, dry_run: bool) -> list[Repaired]:
        """See store.port.Store."""
        from session_memory.store.sqlite import repair

        if layer == "orphans" and known_damage(self._directory) is not None:
            return []  # see sweep_orphans
        return repair.repair(self._db, self.segments, layer, dry_run=dry_run)

    def quick_check(self) -> str:
        """SQLite's own quick look at the file: 'ok', or what is wrong."""
        try:
            return str(value(self._db, "PRAGMA quick_check(1)"))
        except apsw.Error as error:
            return describe(error)

    def dump(self) -> Iterator[dict[str, Any]]:
        """See store.port.Store."""
        from session_memory.store.sqlite import dump

        return dump.dump(self._db, self._reader)

    def backup(
        self, target: str, progress: Progress | None = None, *, replace: bool = False
    ) -> int:
        """See store.port.Store."""
        from session_memory.store import backups
        from session_memory.store.sqlite import backup

        target = os.path.abspath(target)
        backups.check_target(target, self._directory, replace=replace)
        advance = progress or backups.unseen
        return backup.back_up(self._db, self._directory, target, self._now, advance).size
