"""Raw text leaving the store: what counts against the caps, eviction, orphans, compaction.

Deletion always goes row first, file second: a row never points at a missing file, and a file that
was left behind by a crash is found again through `doomed_segment` or the orphan scan.
"""

from __future__ import annotations

from session_memory.core.digest import DIGEST_VERSION
from session_memory.core.retention.estimate import EVENT_ROW_BYTES, estimate_raw_bytes
from session_memory.core.retention.plan import Eviction, RawSession, StoreUsage
from session_memory.errors import DatabaseDamaged, StoreDamaged, StoreError
from session_memory.store.segments import SegmentStore
from session_memory.store.sqlite import lost_events
from session_memory.store.sqlite.connection import UNUSABLE, Database, rows, transaction, value
from session_memory.store.sqlite.ids import event_range
from session_memory.store.values import Evicted, OldDigests

OPTIMIZE_SHARE = 8
"""The indexes are rewritten once an eighth of what they index has gone."""
# Text cannot have been captured before it was written: with a clock that was set back, and with
# sessions that grew before captures were noted, the session's end is the better bound.
_CAPTURED = "max(raw_captured_at, captured_at, coalesce(ended_at, 0))"
_RAW = f"""
SELECT s.id, s.external_id, s.state, coalesce(s.ended_at, s.captured_at), s.index_bytes,
  coalesce(g.bytes, 0), s.raw_events, {_CAPTURED}
FROM session s LEFT JOIN (SELECT session_id, sum(bytes) AS bytes FROM segment GROUP BY session_id) g
  ON g.session_id = s.id
WHERE s.raw_events > 0
"""
_PATTERN_BYTES = 100  # figures and names of a pattern besides its words
_DISTILLED = f"""
SELECT coalesce((SELECT sum(octet_length(body)) FROM digest), 0)
  + coalesce((SELECT sum(observed_bytes) FROM session), 0)
  + coalesce((SELECT sum(octet_length(body)) FROM mined), 0) + coalesce((SELECT sum(
  octet_length(locus) + octet_length(about) + octet_length(flavors) + octet_length(repos)
  + {_PATTERN_BYTES}) FROM pattern), 0)
"""


def raw_sessions(db: Database) -> list[RawSession]:
    """Sessions whose raw text is here, each with its share of the usage."""
    return [
        RawSession(
            session_id=row[0],
            external_id=row[1],
            analyzed=row[2] == "analyzed",
            raw_bytes=estimate_raw_bytes(row[5], row[6], row[4]),
            last_at=row[3],
            captured_at=row[7],
        )
        for row in rows(db, _RAW)
    ]


def oldest_analyzed(db: Database) -> int | None:
    """When the raw text of an analyzed session that has been here longest was captured."""
    return value(
        db,
        f"SELECT min({_CAPTURED}) FROM session WHERE raw_events > 0 AND state = 'analyzed'",
    )


def raw_usage(db: Database) -> StoreUsage:
    """Segment bytes plus the documented estimate for rows and index, and the distilled bytes.

    Exactly the sum over `raw_sessions`, but without listing them: every sweep needs it.
    """
    segment_bytes = int(value(db, "SELECT sum(bytes) FROM segment") or 0)
    estimate = value(
        db,
        "SELECT sum(raw_events * ? + index_bytes) FROM session WHERE raw_events > 0",
        (EVENT_ROW_BYTES,),
    )
    return StoreUsage(
        raw_bytes=segment_bytes + int(estimate or 0),
        distilled_bytes=int(value(db, _DISTILLED)),
    )


def evicted(db: Database) -> tuple[Evicted, ...]:
    """What was evicted so far, by reason; sessions forgotten since are not counted."""
    selected = rows(
        db,
        "SELECT reason, count(DISTINCT session_id), sum(bytes), max(at) FROM eviction"
        " GROUP BY reason ORDER BY reason",
    )
    return tuple(Evicted(*row) for row in selected)


def evict(db: Database, segments: SegmentStore, evictions: list[Eviction], now_ms: int) -> int:
    """Drop events, index entries and segments of these sessions; keep everything else of them."""
    freed = 0
    failed: list[str] = []
    before = int(value(db, "SELECT sum(index_bytes) FROM session") or 0)
    for eviction in evictions:
        try:
            with transaction(db):
                freed += _evict_session(db, eviction, now_ms)
        except (StoreError, *UNUSABLE):
            raise
        except Exception as error:  # noqa: BLE001 - one session must not keep the others here
            failed.append(f"{eviction.external_id}: {error}")
    remove_doomed(db, segments)
    after = int(value(db, "SELECT sum(index_bytes) FROM session") or 0)
    if before - after >= before // OPTIMIZE_SHARE:
        optimize(db)
    db.execute("PRAGMA incremental_vacuum").fetchall()
    db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    if failed:
        raise StoreDamaged(f"{len(failed)} sessions keep their raw text, such as {failed[0]}")
    return freed


def optimize(db: Database) -> None:
    """Rewrite the indexes without the entries of deleted rows, which stay in them until then."""
    for table in ("event_text", "turn_text", "observation_text"):
        with transaction(db):
            db.execute(f"INSERT INTO {table} ({table}) VALUES ('optimize')")


def _evict_session(db: Database, eviction: Eviction, now_ms: int) -> int:
    from session_memory.store.sqlite import observations  # most sweeps evict nothing

    session_id = eviction.session_id
    ids = event_range(session_id)
    size = int(value(db, "SELECT sum(bytes) FROM segment WHERE session_id = ?", (session_id,)) or 0)
    # What no log holds any more (superseded) cannot be read again, so it is not lost either.
    db.execute(
        "INSERT OR IGNORE INTO evicted_event (fingerprint, session_id, inherited, lost)"
        " SELECT fingerprint, ?, inherited, ? AND NOT superseded FROM event"
        " WHERE id BETWEEN ? AND ?",
        (session_id, eviction.data_loss, *ids),
    )
    if eviction.data_loss:
        lost_events.read_again(db, session_id)
    else:
        _close_digested(db, session_id)
    for table in ("event_text", "turn_text"):
        db.execute(
            f"DELETE FROM {table} WHERE rowid IN"
            " (SELECT id FROM event WHERE id BETWEEN ? AND ? AND indexed > ?)",
            (*ids, 0 if table == "event_text" else 1),
        )
    observations.outlive(db, session_id)
    db.execute(
        "INSERT OR IGNORE INTO doomed_segment SELECT name FROM segment WHERE session_id = ?",
        (session_id,),
    )
    db.execute("DELETE FROM event WHERE id BETWEEN ? AND ?", ids)
    db.execute("DELETE FROM segment WHERE session_id = ?", (session_id,))
    db.execute(
        "UPDATE session SET state = 'raw_evicted', raw_events = 0, index_bytes = 0 WHERE id = ?",
        (session_id,),
    )
    db.execute(
        "INSERT INTO eviction (at, session_id, external_id, reason, bytes, data_loss)"
        " VALUES (?, ?, ?, ?, ?, ?)",
        (
            now_ms,
            session_id,
            eviction.external_id,
            eviction.reason,
            eviction.bytes,
            eviction.data_loss,
        ),
    )
    return size


def _close_digested(db: Database, session_id: int) -> None:
    """Its digest stands for these events: no log brings them back, and growth is added to it."""
    db.execute(
        "UPDATE session_source SET evicted_to = max("
        " (SELECT read_to FROM source WHERE id = source_id), coalesce((SELECT max(pos) + 1"
        " FROM event WHERE id BETWEEN ? AND ? AND source_id = session_source.source_id), 0))"
        " WHERE session_id = ?",
        (*event_range(session_id), session_id),
    )
    db.execute(
        "INSERT OR REPLACE INTO evicted_digest SELECT session_id, body FROM digest"
        " WHERE session_id = ?",
        (session_id,),
    )


def old_digests(db: Database) -> OldDigests:
    """How many digests an older version made; those that rest on evicted text stay as they are."""
    evicted = "(s.raw_events = 0 OR s.id IN (SELECT session_id FROM evicted_digest))"
    waiting = (
        "SELECT count(*) FROM session s WHERE raw_events > 0 AND observer < ?"
        f" AND state = 'analyzed' AND NOT {evicted}"
    )
    # Only their text says which version made them: a merged digest is as old as its parts.
    lasting = (
        f"SELECT count(*) FROM session s JOIN digest d ON d.session_id = s.id WHERE {evicted}"
        " AND coalesce(json_extract(d.body, '$.version'), 1) < ?"
    )
    return OldDigests(value(db, waiting, (DIGEST_VERSION,)), value(db, lasting, (DIGEST_VERSION,)))


def remove_doomed(db: Database, segments: SegmentStore) -> int:
    """Unlink the files of segments whose rows are gone; returns how many there were."""
    names = [row[0] for row in rows(db, "SELECT name FROM doomed_segment")]
    if not names:
        return 0
    gone = segments.delete(names)
    with transaction(db):
        db.executemany("DELETE FROM doomed_segment WHERE name = ?", [(name,) for name in names])
    return gone


def sweep_orphans(db: Database, segments: SegmentStore) -> int:
    """Remove every segment file that no row points at."""
    removed = remove_doomed(db, segments)
    with transaction(db):  # a writer puts its files before it commits the rows: keep it out
        stored_names = {row[0] for row in rows(db, "SELECT name FROM segment")}
        segments.drop_unfinished()
        loose = [name for name in segments.names() if name not in stored_names]
        if loose and (detail := value(db, "PRAGMA integrity_check('segment')")) != "ok":
            raise DatabaseDamaged(f"the database is damaged: {detail}")  # rows may be missing
        return removed + segments.delete(loose)


def compact(db: Database, segments: SegmentStore, session_id: int, at_least: int = 2) -> int:
    """Join a session's segments into one file, so that a long life does not mean many files."""
    from session_memory.store.sqlite.manifests import repack  # most sweeps join nothing

    with transaction(db):  # from the first read on: an eviction in between must not be undone
        count = int(
            value(db, "SELECT count(*) FROM segment WHERE session_id = ?", (session_id,)) or 0
        )
        if count < at_least:
            return 0
        repack(db, segments, session_id)
    remove_doomed(db, segments)
    return count - 1


def crowded(db: Database, limit: int) -> list[int]:
    """Sessions with more segments than `limit`."""
    return [
        row[0]
        for row in rows(
            db, "SELECT session_id FROM segment GROUP BY session_id HAVING count(*) > ?", (limit,)
        )
    ]
