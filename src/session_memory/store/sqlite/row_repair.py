"""Making rows fit each other after some were lost: stand-ins, texts, references and figures."""

from __future__ import annotations

import os

from session_memory.errors import StoreDamaged
from session_memory.store.segments import SegmentStore, digest_of, session_of, text_size, unpack
from session_memory.store.sqlite.connection import Database, rows, value
from session_memory.store.sqlite.ids import event_range
from session_memory.store.sqlite.merge import SPECS
from session_memory.store.sqlite.observations import ROW_BYTES
from session_memory.store.sqlite.settle import settle_usage
from session_memory.store.values import Repaired

_LIVE = "SELECT count(*) FROM event WHERE id BETWEEN s.id << 24 AND (s.id << 24) | 16777215"


def drop_stand_ins(db: Database) -> None:
    """Decide about sessions, sources and projects whose own rows were unreadable.

    A session that can be read from its logs again is left to them. One whose logs have gone
    stays under a made-up name, with what is there of it.
    """
    for (session_id,) in rows(db, "SELECT id FROM session WHERE flavor = ''"):
        origins = rows(
            db,
            "SELECT DISTINCT s.path, s.flavor FROM event e JOIN source s ON s.id = e.source_id"
            " WHERE e.id BETWEEN ? AND ?",
            event_range(session_id),
        )
        if all(os.path.exists(path) for path, _ in origins):
            _delete_session(db, session_id)
            continue
        flavor = next((flavor for _, flavor in origins if flavor), "unknown")
        db.execute("UPDATE session SET flavor = ? WHERE id = ?", (flavor, session_id))
    db.execute(
        "UPDATE source SET flavor = coalesce((SELECT s.flavor FROM event e JOIN session s"
        " ON s.id = e.id >> 24 WHERE e.source_id = source.id LIMIT 1), 'unknown') WHERE flavor = ''"
    )
    db.execute(
        "UPDATE session SET project_id = (SELECT a.project_id FROM project_alias a"
        " JOIN project p ON p.id = a.project_id AND p.source != '' WHERE a.path = cwd)"
        " WHERE project_id IN (SELECT id FROM project WHERE source = '')"
    )
    db.execute("DELETE FROM project WHERE source = ''")


def _delete_session(db: Database, session_id: int) -> None:
    db.execute("DELETE FROM event WHERE id BETWEEN ? AND ?", event_range(session_id))
    for table, spec in SPECS.items():
        for column, kind in spec.refs.items():
            if kind == "session":
                db.execute(f"DELETE FROM {table} WHERE {column} = ?", (session_id,))
    db.execute("DELETE FROM session WHERE id = ?", (session_id,))


def drop_doubles(db: Database) -> None:
    """Once the logs were read again: a session under a made-up name whose events have come back."""
    for (session_id,) in rows(db, "SELECT id FROM session WHERE external_id LIKE 'recovered-%'"):
        db.execute(
            "DELETE FROM event AS e WHERE id BETWEEN ? AND ? AND EXISTS (SELECT 1 FROM event o"
            " WHERE o.fingerprint = e.fingerprint AND o.id >> 24 != e.id >> 24)",
            event_range(session_id),
        )
        if not value(db, "SELECT 1 FROM event WHERE id BETWEEN ? AND ?", event_range(session_id)):
            keys = {
                row[0]
                for row in rows(db, "SELECT key FROM usage WHERE session_id = ?", (session_id,))
            }
            _delete_session(db, session_id)
            settle_usage(db, keys)
    db.execute(
        "DELETE FROM source WHERE path LIKE 'recovered-%' AND id NOT IN"
        " (SELECT source_id FROM event)"
    )
    _drop_dangling(db)
    _count(db)


def mend_texts(db: Database, segments: SegmentStore) -> list[Repaired]:
    """Match texts with events; events whose text cannot be read are left to their log."""
    return [*_match_texts(db, segments), *_bad_texts(db, segments)]


def mend_rows(db: Database) -> list[Repaired]:
    """Drop what refers to nothing, and count again."""
    _drop_dangling(db)
    _drop_unused(db)
    db.execute(
        "DELETE FROM evicted_event AS k WHERE lost = 1 AND EXISTS (SELECT 1 FROM event e"
        " WHERE e.fingerprint = k.fingerprint AND e.id >> 24 = k.session_id)"
    )
    done = _restore_digests(db)
    _count(db)
    # Every log is read once more: what is known of it is confirmed, what is missing is added.
    db.execute("UPDATE source SET size = -1, mtime_ns = 0, ctime_ns = 0, read_to = 0")
    return done


def _drop_unused(db: Database) -> None:
    """Segments none of whose texts an event names: another one holds them."""
    unused = "FROM segment WHERE id NOT IN (SELECT segment_id FROM event WHERE segment_id NOTNULL)"
    db.execute(f"INSERT OR IGNORE INTO doomed_segment SELECT name {unused}")
    db.execute(f"DELETE {unused}")


def _match_texts(db: Database, segments: SegmentStore) -> list[Repaired]:
    """Files whose row was lost, by their session and the size of the text its events need."""
    stored_names = {row[0] for row in rows(db, "SELECT name FROM segment")}
    loose: dict[tuple[int, int], list[str]] = {}
    for name in segments.names():
        if name not in stored_names:
            size = text_size(segments, name)
            if size is not None:
                loose.setdefault((session_of(name), size), []).append(name)
    matched = 0
    for session_id, segment_id, size in rows(
        db,
        "SELECT id >> 24, segment_id, max(body_at + body_len) FROM event"
        " WHERE segment_id IS NOT NULL AND segment_id NOT IN (SELECT id FROM segment)"
        " GROUP BY id >> 24, segment_id",
    ):
        names = loose.get((session_id, size))
        if not names:
            continue
        name = names.pop()
        data = segments.read(name)
        db.execute(
            "INSERT INTO segment (session_id, name, bytes, text_bytes, hash)"
            " VALUES (?, ?, ?, ?, ?)",
            (session_id, name, len(data), size, digest_of(data)),
        )
        db.execute(
            "UPDATE event SET segment_id = ? WHERE id BETWEEN ? AND ? AND segment_id = ?",
            (db.last_insert_rowid(), *event_range(session_id), segment_id),
        )
        matched += 1
    return [Repaired("database", f"{matched} files matched with their events")] if matched else []


def _bad_texts(db: Database, segments: SegmentStore) -> list[Repaired]:
    """Events whose text cannot be read: left to their log where there is one, else without text."""
    bad = {
        row[0]
        for row in rows(
            db,
            "SELECT DISTINCT segment_id FROM event WHERE segment_id NOT IN"
            " (SELECT id FROM segment)",
        )
    }
    for segment_id, name, digest in rows(db, "SELECT id, name, hash FROM segment"):
        if not _is_whole(segments, name, digest):
            bad.add(segment_id)
    again = lost = 0
    for segment_id in bad:
        held = rows(
            db,
            "SELECT e.id, s.path FROM event e LEFT JOIN source s ON s.id = e.source_id"
            " WHERE e.segment_id = ?",
            (segment_id,),
        )
        gone = [(event_id,) for event_id, path in held if path and os.path.exists(path)]
        again += len(gone)
        lost += len(held) - len(gone)
        db.executemany("DELETE FROM event WHERE id = ?", gone)
        db.execute(
            "UPDATE event SET segment_id = NULL, body_at = 0, body_len = 0 WHERE segment_id = ?",
            (segment_id,),
        )
        db.execute(
            "INSERT OR IGNORE INTO doomed_segment SELECT name FROM segment WHERE id = ?",
            (segment_id,),
        )
        db.execute("DELETE FROM segment WHERE id = ?", (segment_id,))
    if not bad:
        return []
    detail = f"{again} events with unreadable texts to be read again, {lost} texts lost"
    return [Repaired("segments", detail, lost=lost)]


def _is_whole(segments: SegmentStore, name: str, digest: bytes) -> bool:
    try:
        unpack(segments, name)
        return digest_of(segments.read(name)) == digest
    except (StoreDamaged, OSError):
        return False


def _drop_dangling(db: Database) -> None:
    for table, spec in SPECS.items():
        for column, kind in spec.refs.items():
            if kind not in ("segment", "event") and table != "event":
                db.execute(
                    f"DELETE FROM {table} WHERE {column} IS NOT NULL"
                    f" AND {column} NOT IN (SELECT id FROM {kind})"
                )
    for event, parent in (("id >> 24", "session"), ("source_id", "source")):
        db.execute(f"DELETE FROM event WHERE {event} NOT IN (SELECT id FROM {parent})")
    db.execute("DELETE FROM event_copy WHERE event_id NOT IN (SELECT id FROM event)")
    db.execute("DELETE FROM mined WHERE session_id NOT IN (SELECT session_id FROM digest)")
    db.execute("INSERT OR IGNORE INTO session_source (session_id, source_id)"
        " SELECT DISTINCT id >> 24, source_id FROM event")  # fmt: skip


def _restore_digests(db: Database) -> list[Repaired]:
    """A session whose raw text is here is distilled again; for others the evicted digest stands."""
    db.execute(
        "INSERT OR IGNORE INTO digest SELECT session_id, json_extract(body, '$.outcome'),"
        " json_extract(body, '$.source_fingerprint'), body FROM evicted_digest"
        " WHERE json_valid(body) AND json_extract(body, '$.outcome') IS NOT NULL"
        " AND json_extract(body, '$.source_fingerprint') IS NOT NULL"
    )
    db.execute(
        "UPDATE session SET state = 'captured' WHERE id IN (SELECT id >> 24 FROM event)"
        " AND (state = 'raw_evicted' OR id NOT IN (SELECT session_id FROM digest))"
    )
    lost = 0
    for session_id, external_id in rows(
        db,
        "SELECT id, external_id FROM session WHERE id NOT IN (SELECT session_id FROM digest)"
        " AND id NOT IN (SELECT id >> 24 FROM event)",
    ):
        paths = rows(
            db,
            "SELECT s.path FROM session_source l JOIN source s ON s.id = l.source_id"
            " WHERE l.session_id = ?",
            (session_id,),
        )
        if any(os.path.exists(path) for (path,) in paths):  # it is read from its log again
            db.execute("DELETE FROM evicted_event WHERE session_id = ?", (session_id,))
            db.execute(
                "UPDATE session_source SET evicted_to = 0 WHERE session_id = ?", (session_id,)
            )
            db.execute("UPDATE session SET state = 'captured' WHERE id = ?", (session_id,))
            continue
        if value(db, "SELECT event_count FROM session WHERE id = ?", (session_id,)):
            lost += 1
            db.execute("UPDATE session SET state = 'raw_evicted' WHERE id = ?", (session_id,))
            db.execute(
                "INSERT INTO eviction (at, session_id, external_id, reason, bytes, data_loss)"
                " VALUES (0, ?, ?, 'damage', 0, 1)",
                (session_id, external_id),
            )
    detail = f"{lost} digests of sessions without text and log are lost"
    return [Repaired("database", detail, lost=lost)] if lost else []


def _count(db: Database) -> None:
    db.execute(
        f"UPDATE session AS s SET raw_events = ({_LIVE}),"
        f" event_count = ({_LIVE} AND superseded = 0)"
        " + (SELECT count(*) FROM evicted_event WHERE session_id = s.id),"
        " next_seq = max(next_seq, coalesce((SELECT max(id) + 1 - (s.id << 24) FROM event"
        " WHERE id BETWEEN s.id << 24 AND (s.id << 24) | 16777215), 0),"
        " coalesce((SELECT max(event_id & 16777215) + 1 FROM observation"
        " WHERE session_id = s.id), 0)),"
        " observed_bytes = (SELECT coalesce(sum(length(CAST(text AS BLOB)) + ?), 0)"
        " FROM observation WHERE session_id = s.id)",
        (ROW_BYTES,),
    )
