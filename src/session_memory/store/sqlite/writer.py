"""One write transaction: events, facts, usage and cursors become visible together.

Segment files are written and flushed just before COMMIT, so a committed row never points at a text
that is not on disk; a crash in between leaves files without rows, which `sweep_orphans` removes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from typing import Any

import msgspec

from session_memory.core.cursor import Cursor, Stamp
from session_memory.core.digest import DIGEST_VERSION, labels
from session_memory.core.facts import Fact
from session_memory.core.fingerprint import fact_name, path_name, session_name
from session_memory.core.project.identity import Resolution
from session_memory.core.retention.estimate import index_estimate
from session_memory.core.schema import Digest, Observation, Usage
from session_memory.errors import StoreError
from session_memory.store.port import EventDraft, Holder, SessionHandle, UsageDraft
from session_memory.store.segments import Packed, SegmentReader, pack, share
from session_memory.store.sqlite import (
    checkpoints,
    event_copies,
    manifests,
    places,
    projects,
    sources,
    statements,
    usage,
)
from session_memory.store.sqlite import observations as observing
from session_memory.store.sqlite import settle as settling
from session_memory.store.sqlite.connection import Database, check_version, rows, savepoint, value
from session_memory.store.sqlite.cut_writes import CutWrites
from session_memory.store.sqlite.forget import note_source, tombstoned
from session_memory.store.sqlite.ids import SEQ_BITS, event_range
from session_memory.store.sqlite.manifests import OpenSession
from session_memory.store.sqlite.marks import others_in
from session_memory.store.sqlite.places import Entries
from session_memory.store.sqlite.statements import StatedFact
from session_memory.store.values import Checkpoint, Whereabouts

_encode = msgspec.json.Encoder().encode


class SqliteWriter(CutWrites):
    """See store.port.Writer."""

    def __init__(
        self, connection: Database, reader: SegmentReader, key: bytes, now_ms: int
    ) -> None:
        self._db = connection
        self._reader = reader
        self._key = key
        self._now = now_ms
        self._forgotten: list[tuple[bytes, set[int]]] = []
        """Names of forgotten sessions, by the key they were made with."""
        self._other_events: list[tuple[bytes, frozenset[int]]] = []
        self._has_tombstones = False
        self._open: dict[tuple[str, str], OpenSession] = {}
        self._by_id: dict[int, OpenSession] = {}
        self._paths: dict[int, str] = {}
        self._shared: set[int] = set()
        self._usage_keys: set[int] = set()
        self._facts: list[StatedFact] = []
        self._usages: list[tuple[int, UsageDraft]] = []
        # Sessions whose observations are not indexed yet, and whose responses are not summed up.
        self._observed: set[int] = set()
        self._digested: set[int] = set()
        self._next_segment = 0

    # transaction

    def begin(self) -> None:
        """Take the write lock."""
        self._db.execute("BEGIN IMMEDIATE")
        check_version(self._db)
        self._next_segment = int(value(self._db, "SELECT max(id) FROM segment") or 0) + 1
        names = {row[0] for row in rows(self._db, "SELECT name FROM forgotten_session")}
        self._forgotten = [(self._key, names)] if names else []
        self._other_events = []
        for keys, gone in others_in(self._db).items():
            self._forgotten.append((keys.fingerprint, set(gone.sessions)))
            self._other_events.append((keys.fingerprint, gone.events))
        self._has_tombstones = value(self._db, "SELECT 1 FROM tombstone LIMIT 1") is not None

    def commit(self) -> None:
        """See store.port.Writer."""
        self._flush_sessions()
        self._db.execute("COMMIT")
        self._open.clear()
        self._by_id.clear()
        self.begin()

    def start_over(self) -> None:
        """See store.port.Writer."""
        self.rollback()
        for cache in (self._open, self._by_id, self._paths):
            cache.clear()
        for noted in (self._shared, self._usage_keys, self._observed, self._digested):
            noted.clear()
        self._facts, self._usages = [], []
        self._reader.fresh.let_go()
        self.begin()

    def attempt(self) -> AbstractContextManager[None]:
        """See store.port.Writer."""
        return savepoint(self._db)

    def finish(self) -> None:
        """Commit for good."""
        self._flush_sessions()
        self._reader.fresh.let_go()
        self._db.execute("COMMIT")

    def rollback(self) -> None:
        """Leave no trace."""
        if self._db.in_transaction:
            self._db.execute("ROLLBACK")

    def _flush_sessions(self) -> None:
        self._write_stated()
        observing.index(self._db, self._observed)
        usage.sum_up(self._db, self._digested)
        self._observed.clear()
        self._digested.clear()
        self._reader.fresh.let_go()
        packed = self._packed()
        grown = [state for state in self._open.values() if state.added]
        self._index(grown)
        self._db.executemany(
            statements.SESSION_GREW,
            [(s.next_seq, s.added, s.index_bytes, self._now, s.place, s.handle.id) for s in grown],
        )
        for state in grown:
            state.added = state.index_bytes = 0
        try:
            self._reader.store.put(packed)
        except OSError as error:
            raise StoreError(
                f"cannot write session texts: {error.strerror}",
                hint="free disk space or check the store's permissions; the sweep can be repeated",
            ) from error

    def _packed(self) -> list[Packed]:
        """The texts of this transaction as segments, with their rows."""
        states = [state for state in self._open.values() if state.bodies]
        texts: list[bytes] = []
        for state in states:
            texts.append(b"".join(state.bodies))
            state.bodies = []
        bodies = manifests.of_commit(self._db, states, texts)
        packed = share(
            [
                pack(state.handle.id, text, manifest)
                for state, text, manifest in zip(states, texts, bodies, strict=True)
            ]
        )
        manifests.insert_segments(
            self._db,
            [
                (state.segment_id, state.handle.id, segment)
                for state, segment in zip(states, packed, strict=True)
            ],
        )
        for state, text, segment in zip(states, texts, packed, strict=True):
            self._reader.fresh.keep(segment.name, text, state.decoded)
            state.body_bytes, state.segment_id = 0, 0
            state.rows, state.facts, state.usages, state.decoded = [], [], [], {}
        return packed

    def _index(self, grown: list[OpenSession]) -> None:
        """Write the entries of each session's new events, all with the same place."""
        new = [s.handle.id for s in grown if s.place is None and s.next_seq == s.added]
        chosen = places.choose_places(self._db, new)  # they have no entries without a place
        ranges = [state.new_events for state in grown]
        left = "FROM event WHERE id BETWEEN ? AND ?"
        counts = self._db.executemany(f"SELECT count(*) {left}", ranges).fetchall()
        for state, added, (count,) in zip(grown, ranges, counts, strict=True):
            state.place = chosen.get(state.handle.id, state.place)
            if count != state.added:  # some were taken out again in the same transaction
                ids = {row[0] for row in rows(self._db, f"SELECT id {left}", added)}
                state.texts = [entry for entry in state.texts if entry[0] in ids]
                state.turns = [entry for entry in state.turns if entry[0] in ids]
        places.index_entries(self._db, [Entries(s.place, s.texts, s.turns) for s in grown])
        for state in grown:
            state.texts, state.turns = [], []

    # sources

    def source(self, flavor: str, path: str) -> int:
        """See store.port.Writer."""
        self._db.execute(statements.INSERT_SOURCE, (flavor, path))
        if self._db.changes():
            source_id = self._db.last_insert_rowid()
        else:  # it is known
            source_id = int(value(self._db, "SELECT id FROM source WHERE path = ?", (path,)))
        self._paths[source_id] = path
        return source_id

    def save_cursor(self, path: str, cursor: Cursor) -> None:
        """See store.port.Writer."""
        self._db.execute(
            "UPDATE source SET device = ?, inode = ?, size = ?, mtime_ns = ?, ctime_ns = ?,"
            " head_hash = ?, tail_hash = ?, read_to = ?, state = ?, parser_version = ?"
            " WHERE path = ?",
            (
                *cursor.stamp,
                cursor.head_hash,
                cursor.tail_hash,
                cursor.read_to,
                _encode(cursor.state).decode(),
                cursor.parser_version,
                path,
            ),
        )

    def _path(self, source_id: int) -> str:
        path = self._paths.get(source_id)
        if path is None:
            path = str(value(self._db, "SELECT path FROM source WHERE id = ?", (source_id,)))
            self._paths[source_id] = path
        return path

    def restart_source(self, source_id: int) -> None:
        """See store.port.Writer."""
        self._write_stated()
        self._db.execute("DELETE FROM fact WHERE source_id = ?", (source_id,))
        self._db.execute("DELETE FROM quarantine WHERE source_id = ?", (source_id,))

    def quarantine(self, source_id: int, offsets: list[int]) -> None:
        """See store.port.Writer."""
        self._db.executemany(
            "INSERT OR IGNORE INTO quarantine VALUES (?, ?, ?)",
            [(source_id, offset, self._now) for offset in offsets],
        )

    # sessions and events

    def session(self, flavor: str, external_id: str, parent: str | None) -> SessionHandle:
        """See store.port.Writer."""
        state = self._open.get((flavor, external_id))
        if state is not None:
            return state.handle
        row = self._db.execute(
            "SELECT id, next_seq, place FROM session WHERE flavor = ? AND external_id = ?",
            (flavor, external_id),
        ).fetchone()
        created = row is None
        if row is None:
            self._db.execute(
                "INSERT INTO session (flavor, external_id, parent_external_id, captured_at)"
                " VALUES (?, ?, ?, ?)",
                (flavor, external_id, parent, self._now),
            )
            row = (self._db.last_insert_rowid(), 0, None)
        elif parent is not None:
            self._db.execute(
                "UPDATE session SET parent_external_id = ?"
                " WHERE id = ? AND parent_external_id IS NULL",
                (parent, row[0]),
            )
        sql = "SELECT source_id, evicted_to FROM session_source WHERE session_id = ?"
        links = [] if created else rows(self._db, sql, (row[0],))
        handle = SessionHandle(
            row[0], flavor, external_id, created, {r[0] for r in links}, dict(links)
        )
        state = OpenSession(handle, row[1], place=row[2])
        self._open[flavor, external_id] = state
        self._by_id[handle.id] = state
        return handle

    def is_forgotten(self, flavor: str, external_id: str) -> bool:
        """See store.port.Writer."""
        return any(
            session_name(key, flavor, external_id) in names for key, names in self._forgotten
        )

    def leave_source(self, source_id: int, path: str, stamp: Stamp) -> None:
        """See store.port.Writer."""
        note_source(self._db, path_name(self._key, path), stamp)
        self._db.execute("DELETE FROM source WHERE id = ?", (source_id,))

    def link(self, session: SessionHandle, source_id: int) -> None:
        """See store.port.Writer."""
        if source_id not in session.sources:
            self._db.execute(
                "INSERT INTO session_source (session_id, source_id) VALUES (?, ?)",
                (session.id, source_id),
            )
            session.sources.add(source_id)

    def holders(self, fingerprints: list[int]) -> dict[int, list[Holder]]:
        """See store.port.Writer."""
        holders = event_copies.holders(self._db, fingerprints)
        if self._has_tombstones:
            gone = Holder(0, None, None, None, forgotten=True)
            for fingerprint in tombstoned(self._db, fingerprints):
                holders[fingerprint] = [gone]
        return holders

    def note_shared(self, fingerprints: set[int]) -> None:
        """Fingerprints that more than one session holds: `settle` decides who owns them."""
        self._shared |= fingerprints

    def append(self, session: SessionHandle, source_id: int, drafts: list[EventDraft]) -> None:
        """See store.port.Writer."""
        if session.id not in self._by_id:  # a commit came between
            self.session(session.flavor, session.external_id, None)
        state = self._by_id[session.id]
        if state.segment_id == 0:
            state.segment_id = self._next_segment
            self._next_segment += 1
        event_rows: list[tuple[Any, ...]] = []
        event_id = (session.id << SEQ_BITS) + state.next_seq
        for draft in drafts:
            indexed = 0
            if draft.index_text:
                state.texts.append((event_id, draft.index_text))
                state.index_bytes += index_estimate(len(draft.index_text))
                indexed = 1
                if draft.turn_text:
                    state.turns.append((event_id, draft.turn_text))
                    state.index_bytes += index_estimate(len(draft.turn_text))
                    indexed = 2
            event_rows.append(
                statements.event_row(
                    event_id, source_id, draft, indexed, (state.segment_id, state.body_bytes)
                )
            )
            if draft.body:
                if draft.text is not None:
                    state.decoded[state.body_bytes] = draft.text
                state.bodies.append(draft.body)
                state.body_bytes += len(draft.body)
            event_id += 1
        state.rows += event_rows
        state.paths[source_id] = self._path(source_id)
        state.next_seq += len(drafts)
        state.added += len(drafts)
        self._db.executemany(statements.INSERT_EVENT, event_rows)

    def confirm(self, source_id: int, copies: list[tuple[int, EventDraft]]) -> None:
        """See store.port.Writer."""
        event_copies.confirm(self._db, self._path, source_id, copies)

    def retire(self, source_id: int, seen: set[int], *, delete: bool) -> int:
        """See store.port.Writer."""
        return event_copies.retire(self._db, source_id, seen, delete=delete)

    def set_aside(self, source_id: int) -> int:
        """See store.port.Writer."""
        path = self._path(source_id)
        sources.set_aside(self._db, source_id, path)
        self._paths.clear()
        flavor = value(self._db, "SELECT flavor FROM source WHERE id = ?", (source_id,))
        return self.source(str(flavor), path)

    def absorb(self, aside: int, source_id: int) -> int:
        """See store.port.Writer."""
        self._write_stated()
        retired = event_copies.retire(self._db, aside, set(), delete=False)
        sources.absorb(self._db, aside, source_id)
        return retired

    def last_turns(self, session: SessionHandle, count: int) -> list[str]:
        """See store.port.Writer."""
        turns: list[str] = []
        for name, at, length in rows(
            self._db,
            "SELECT s.name, e.body_at, e.body_len FROM event e"
            " JOIN segment s ON s.id = e.segment_id"
            " WHERE e.id BETWEEN ? AND ? AND e.indexed = 2 ORDER BY e.id DESC LIMIT ?",
            (*event_range(session.id), count),
        ):
            turns.append(self._reader.decoded(name, at, length))
        return turns[::-1]

    # facts and usage

    def add_facts(self, session: SessionHandle, source_id: int, facts: list[Fact]) -> None:
        """See store.port.Writer."""
        if self._has_tombstones or self._other_events:
            facts = [fact for fact in facts if not self._is_forgotten_fact(fact)]
        self._facts += [(session.id, source_id, fact) for fact in facts]
        if (state := self._by_id.get(session.id)) is not None:
            state.facts += [(source_id, fact) for fact in facts]
            state.paths[source_id] = self._path(source_id)

    def _write_stated(self) -> None:
        """Write the facts and responses that were added since: few statements for many sessions."""
        statements.add_facts(self._db, self._facts)
        statements.add_usage(self._db, self._usages)
        self._facts, self._usages = [], []

    def _is_forgotten_fact(self, fact: Fact) -> bool:
        if not isinstance(fact.value, str):
            return False
        if tombstoned(self._db, [fact_name(self._key, fact.name, fact.value)]):
            return True
        return any(
            fact_name(key, fact.name, fact.value) in gone for key, gone in self._other_events
        )

    def add_usage(self, session: SessionHandle, usages: list[UsageDraft]) -> None:
        """See store.port.Writer."""
        if self._has_tombstones:
            gone = tombstoned(self._db, [usage.key for usage in usages])
            usages = [usage for usage in usages if usage.key not in gone]
        self._usage_keys.update(usage.key for usage in usages)
        self._usages += [(session.id, usage) for usage in usages]
        if (state := self._by_id.get(session.id)) is not None:
            state.usages += usages

    def reprice(self, price: Callable[[Usage], float | None], version: str) -> int:
        """See store.port.Writer."""
        return usage.reprice(self._db, price, version)

    def settle(self, sessions: set[int]) -> set[int]:
        """See store.port.Writer."""
        self._write_stated()
        moved = settling.settle_sessions(self._db, sessions)
        shared = self._shared | settling.shared_fingerprints(self._db, moved)
        keys = self._usage_keys | settling.usage_keys(self._db, moved)
        self._shared, self._usage_keys = set(), set()
        changed = settling.settle_forks(self._db, shared)
        settling.settle_usage(self._db, keys)
        self._db.executemany(
            "UPDATE session SET state = 'captured' WHERE id = ? AND state NOT IN"
            " ('captured', 'forgotten')",
            [(session_id,) for session_id in sessions | changed],
        )
        return sessions | changed

    # projects and digests

    def merge_project(self, project_id: int, target_id: int) -> int:
        """See store.port.Writer."""
        return projects.merge(self._db, project_id, target_id, self._now)

    def split_project(self, project_id: int) -> int:
        """See store.port.Writer."""
        return projects.split(self._db, project_id)

    def rename_project(self, project_id: int, key: str) -> None:
        """See store.port.Writer."""
        projects.rename(self._db, project_id, key)

    def whereabouts(self, session_id: int) -> Whereabouts:
        """See store.port.Writer."""
        self._write_stated()
        return settling.whereabouts(self._db, session_id)

    def assign_project(
        self, session_id: int, cwd: str, resolution: Resolution | None, domain: str
    ) -> None:
        """See store.port.Writer."""
        settling.assign_project(self._db, session_id, cwd, resolution, domain)

    def save_digest(self, session_id: int, digest: Digest, low_value: str | None) -> None:
        """See store.port.Writer."""
        stored = value(self._db, "SELECT 1 FROM digest WHERE session_id = ?", (session_id,))
        self._db.execute(
            statements.INSERT_DIGEST if stored is None else statements.UPDATE_DIGEST,
            (digest.outcome, digest.source_fingerprint, _encode(digest).decode(), session_id),
        )
        open_session = self._by_id.get(session_id)
        added = open_session.added if open_session else 0
        shown = _encode(labels(digest)).decode()
        self._db.execute(
            "UPDATE session SET metadata = json_patch(metadata, ?), low_value = ?, observer = ?,"
            " state = CASE WHEN raw_events + ? > 0 OR event_count = 0 THEN 'analyzed'"
            " ELSE 'raw_evicted' END WHERE id = ?",
            (shown, low_value, DIGEST_VERSION, added, session_id),
        )
        self._digested.add(session_id)

    def leave_undistilled(self, session_id: int) -> None:
        """See store.port.Writer."""
        self._db.execute("UPDATE session SET state = 'raw_evicted' WHERE id = ?", (session_id,))

    def save_observations(self, observed: Mapping[int, list[Observation]]) -> None:
        """See store.port.Writer."""
        observing.save(self._db, observed)
        self._observed.update(observed)

    def save_checkpoint(self, session_id: int, checkpoint: Checkpoint) -> None:
        """See store.port.Writer."""
        checkpoints.save(self._db, session_id, checkpoint)
