"""Repair, one layer at a time, each reported before it is done.

  orphans    segment files that no row points at are removed
  segments   events whose text is damaged: read again from their log, or listed as lost
  counts     numbers on session rows that do not match the rows they count
  usage      responses that are counted never or twice
  index      full-text entries, made again from the texts
  checksums  pages of a database that an older version made get one each

Damage inside the database file itself cannot be mended from within: see rebuild.
"""

from __future__ import annotations

import os

import apsw

from session_memory.errors import StoreDamaged
from session_memory.store.segments import SegmentReader, SegmentStore, digest_of, unpack
from session_memory.store.sqlite import checksums, observations, queries, retention
from session_memory.store.sqlite.connection import Database, rows, transaction, value
from session_memory.store.sqlite.ids import event_range
from session_memory.store.sqlite.rewrite import index_again
from session_memory.store.sqlite.settle import settle_usage
from session_memory.store.values import Repaired


def repair(db: Database, segments: SegmentStore, layer: str, *, dry_run: bool) -> list[Repaired]:
    """What a layer needs, and, unless it is a dry run, doing it."""
    match layer:
        case "orphans":
            return _orphans(db, segments, dry_run)
        case "segments":
            return _segments(db, segments, dry_run)
        case "counts":
            return _counts(db, dry_run)
        case "usage":
            return _usage(db, dry_run)
        case "checksums":
            return _checksums(db, dry_run)
        case _:
            return _index(db, segments, dry_run)


def _orphans(db: Database, segments: SegmentStore, dry_run: bool) -> list[Repaired]:
    names = {row[0] for row in rows(db, "SELECT name FROM segment")}
    loose = [name for name in segments.names() if name not in names]
    if not loose:
        return []
    if not dry_run:
        retention.sweep_orphans(db, segments)
    return [Repaired("orphans", f"{len(loose)} files without rows removed")]


def _segments(db: Database, segments: SegmentStore, dry_run: bool) -> list[Repaired]:
    done: list[Repaired] = []
    for segment_id, session_id, name, digest, external_id in rows(
        db,
        "SELECT g.id, g.session_id, g.name, g.hash, s.external_id FROM segment g"
        " JOIN session s ON s.id = g.session_id",
    ):
        try:
            unpack(segments, name)
            whole = digest_of(segments.read(name)) == digest
        except (StoreDamaged, OSError):
            whole = False
        if not whole:
            done.append(_damaged(db, segment_id, session_id, external_id, dry_run))
    if flawed := segments.flawed():
        done.append(Repaired("segments", f"{len(flawed)} directories of shared files rewritten"))
    if done and not dry_run:
        segments.mend()
        retention.remove_doomed(db, segments)
    return done


def _damaged(
    db: Database, segment_id: int, session_id: int, external_id: str, dry_run: bool
) -> Repaired:
    """Drop events of a damaged segment if their log still exists; others stay, without text."""
    held = rows(
        db,
        "SELECT e.id, s.path, s.id FROM event e JOIN source s ON s.id = e.source_id"
        " WHERE e.id BETWEEN ? AND ? AND e.segment_id = ?",
        (*event_range(session_id), segment_id),
    )
    again = [row for row in held if os.path.exists(row[1])]
    lost = len(held) - len(again)
    if not dry_run:
        with transaction(db):
            _drop_events(db, session_id, [row[0] for row in again])
            db.execute(
                "UPDATE event SET segment_id = NULL, body_at = 0, body_len = 0"
                " WHERE id BETWEEN ? AND ? AND segment_id = ?",
                (*event_range(session_id), segment_id),
            )
            for source_id in {row[2] for row in again}:
                db.execute("UPDATE source SET size = -1, read_to = 0 WHERE id = ?", (source_id,))
            db.execute(
                "INSERT OR IGNORE INTO doomed_segment SELECT name FROM segment WHERE id = ?",
                (segment_id,),
            )
            db.execute("DELETE FROM segment WHERE id = ?", (segment_id,))
            db.execute("UPDATE session SET state = 'captured' WHERE id = ?", (session_id,))
    detail = f"session {external_id}: {len(again)} events to be read again, {lost} texts lost"
    return Repaired("segments", detail, lost=lost)


def _drop_events(db: Database, session_id: int, events: list[int]) -> None:
    for table, column in (("event_text", "rowid"), ("turn_text", "rowid"), ("event", "id")):
        db.executemany(f"DELETE FROM {table} WHERE {column} = ?", [(e,) for e in events])
    db.execute(
        "UPDATE session SET raw_events = raw_events - ?, event_count = event_count - ?"
        " WHERE id = ?",
        (len(events), len(events), session_id),
    )


def _counts(db: Database, dry_run: bool) -> list[Repaired]:
    wrong = rows(
        db,
        "SELECT id, external_id, n FROM (SELECT s.id, s.external_id, s.raw_events,"
        " (SELECT count(*) FROM event WHERE id BETWEEN s.id << 24 AND (s.id << 24) | 16777215) n"
        " FROM session s) WHERE raw_events != n",
    )
    if not dry_run:
        with transaction(db):
            for session_id, _, count in wrong:
                db.execute(
                    "UPDATE session SET raw_events = ?, event_count ="
                    " (SELECT count(*) FROM event WHERE id BETWEEN ? AND ? AND superseded = 0)"
                    " + (SELECT count(*) FROM evicted_event WHERE session_id = ?) WHERE id = ?",
                    (count, *event_range(session_id), session_id, session_id),
                )
    return [Repaired("counts", f"session {row[1]}: {row[2]} events") for row in wrong]


def _usage(db: Database, dry_run: bool) -> list[Repaired]:
    wrong = rows(db, "SELECT key FROM usage GROUP BY key HAVING sum(counted) != 1")
    if wrong and not dry_run:
        with transaction(db):
            settle_usage(db, {row[0] for row in wrong})
    return [Repaired("usage", f"{len(wrong)} responses counted once again")] if wrong else []


def _index(db: Database, segments: SegmentStore, dry_run: bool) -> list[Repaired]:
    """Compare entries with rows; where they differ, make the indexes again."""
    try:
        healthy = all(
            not value(
                db,
                f"SELECT 1 FROM ({indexed} EXCEPT SELECT id FROM {table}_docsize) UNION ALL"
                f" SELECT 1 FROM (SELECT id FROM {table}_docsize EXCEPT {indexed}) LIMIT 1",
            )
            for table, indexed in observations.INDEXED_ROWS.items()
        )
        for table in observations.INDEXED_ROWS:
            db.execute(f"INSERT INTO {table} ({table}) VALUES ('integrity-check')")
    except apsw.Error:
        healthy = False
    if healthy:
        return []
    if not dry_run:
        rebuild_index(db, segments)
    return [Repaired("index", "the indexes made again from the texts")]


def _checksums(db: Database, dry_run: bool) -> list[Repaired]:
    if checksums.has_checksums(db) or not checksums.load():
        return []
    if not dry_run:
        checksums.vacuum(db)
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    return [Repaired("checksums", "each page of the database gets a checksum")]


def rebuild_index(db: Database, segments: SegmentStore) -> None:
    """Make the indexes again, from the texts and the observations."""
    reader = SegmentReader(segments)
    with transaction(db):
        for table in observations.INDEXED_ROWS:
            db.execute(f"INSERT INTO {table} ({table}) VALUES ('delete-all')")
        observations.index(db)
        db.execute("UPDATE event SET indexed = 0")
        for (session_id,) in rows(db, "SELECT id FROM session WHERE raw_events > 0"):
            events = [
                event
                for old in (False, True)
                for event in queries.events(db, session_id, reader, superseded=old)
            ]
            size = index_again(db, session_id, events)
            db.execute("UPDATE session SET index_bytes = ? WHERE id = ?", (size, session_id))
