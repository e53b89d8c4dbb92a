"""fsck: every row, every segment, every index entry."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator

import apsw

from session_memory.errors import StoreDamaged
from session_memory.store.backups import Progress, unseen
from session_memory.store.failures import describe
from session_memory.store.port import Finding
from session_memory.store.segments import SegmentStore, digest_of, unpack
from session_memory.store.sqlite import observations, patterns
from session_memory.store.sqlite.connection import Database, rows, value


def fsck(db: Database, segments: SegmentStore, progress: Progress = unseen) -> list[Finding]:
    """All findings; an empty list means the store is whole."""
    checks: dict[str, Callable[[], Iterator[Finding]]] = {
        "pages of the database": lambda: database(db),
        "references": lambda: _references(db),
        "texts": lambda: _segments(db, segments),
        "search index": lambda: _index(db),
        "observations": lambda: _observations(db),
        "rules": lambda: _patterns(db),
    }
    findings: list[Finding] = []
    for number, (name, check) in enumerate(checks.items()):
        progress(number, len(checks), name)
        findings += check()
    return findings


def database(db: Database) -> Iterator[Finding]:
    """What SQLite itself finds wrong with the file."""
    try:
        for (line,) in rows(db, "PRAGMA integrity_check(20)"):
            if line != "ok":
                yield Finding("integrity", str(line))
        for row in rows(db, "PRAGMA foreign_key_check"):
            yield Finding("foreign_key", f"{row[0]} row {row[1]} points at a missing {row[2]}")
    except apsw.Error as error:
        yield Finding("integrity", f"the database cannot be read: {describe(error)}")


def is_file_damage(finding: Finding) -> bool:
    """Whether a finding is about pages of the file; an index of words alone is made again."""
    return finding.check == "integrity" and "inverted index" not in finding.detail


_REFERENCES = {
    "event_without_session": "SELECT count(*) FROM event e WHERE NOT EXISTS"
    " (SELECT 1 FROM session WHERE id = e.id >> 24)",
    "event_without_source": "SELECT count(*) FROM event e WHERE NOT EXISTS"
    " (SELECT 1 FROM source WHERE id = e.source_id)",
    "text_outside_segment": "SELECT count(*) FROM event e"
    " LEFT JOIN segment s ON s.id = e.segment_id"
    " WHERE e.segment_id IS NOT NULL AND (s.id IS NULL OR e.body_at + e.body_len > s.text_bytes"
    " OR s.session_id != e.id >> 24)",
    "response_not_counted_once": "SELECT count(*) FROM"
    " (SELECT key FROM usage GROUP BY key HAVING sum(counted) != 1)",
    "analyzed_without_digest": "SELECT count(*) FROM session s WHERE s.state IN"
    " ('analyzed', 'raw_evicted') AND NOT EXISTS (SELECT 1 FROM digest WHERE session_id = s.id)"
    " AND NOT EXISTS (SELECT 1 FROM eviction v WHERE v.session_id = s.id AND v.data_loss = 1)",
    "evicted_with_raw": "SELECT count(*) FROM session s WHERE s.state = 'raw_evicted' AND EXISTS"
    " (SELECT 1 FROM segment WHERE session_id = s.id)",
    "wrong_event_count": "SELECT count(*) FROM session s WHERE s.raw_events !="
    " (SELECT count(*) FROM event WHERE id BETWEEN s.id << 24 AND (s.id << 24) | 16777215)",
    "session_past_its_sequence": "SELECT count(*) FROM event e JOIN session s ON s.id = e.id >> 24"
    " WHERE (e.id & 16777215) >= s.next_seq",
}


def _references(db: Database) -> Iterator[Finding]:
    for check, sql in _REFERENCES.items():
        try:
            count = value(db, sql)
        except apsw.Error as error:
            yield Finding(check, f"cannot be checked: {error}")
            continue
        if count:
            yield Finding(check, f"{count} found")


def _observations(db: Database) -> Iterator[Finding]:
    try:
        yield from observations.check(db)
    except apsw.Error as error:
        yield Finding("observation", f"cannot be checked: {error}")


def _patterns(db: Database) -> Iterator[Finding]:
    try:
        yield from patterns.check(db)
    except apsw.Error as error:
        yield Finding("pattern", f"cannot be checked: {error}")


def _segments(db: Database, segments: SegmentStore) -> Iterator[Finding]:
    names: set[str] = set()
    try:
        listed = rows(
            db,
            "SELECT g.name, g.bytes, g.text_bytes, g.hash, s.external_id FROM segment g"
            " JOIN session s ON s.id = g.session_id",
        )
    except apsw.Error as error:
        yield Finding("segment", f"cannot be checked: {error}")
        return
    for name, size, text_bytes, digest, external_id in listed:
        names.add(name)
        try:
            data = segments.read(name)
            if len(data) != size or digest_of(data) != digest:
                yield Finding("segment_hash", f"{name} (session {external_id}) has changed")
            elif len(unpack(segments, name)) != text_bytes:
                yield Finding("segment_text", f"{name} (session {external_id}) is incomplete")
        except StoreDamaged as error:
            yield Finding("segment", f"{error.message} (session {external_id})")
        except OSError as error:
            yield Finding("segment", f"{name} (session {external_id}): {error.strerror}")
    for path in segments.flawed():
        detail = f"{os.path.basename(path)}: its directory is damaged, its texts are whole"
        yield Finding("segment_directory", detail, "warning")
    orphans = sum(1 for name in segments.names() if name not in names)
    if orphans:
        yield Finding("orphan_segment", f"{orphans} files belong to no session", "warning")


def _index(db: Database) -> Iterator[Finding]:
    """Both sides of each index; its inner structure is part of `integrity_check`."""
    for table, indexed in observations.INDEXED_ROWS.items():
        try:
            missing, extra = (
                value(
                    db,
                    f"SELECT count(*) FROM ({indexed} EXCEPT SELECT id FROM {table}_docsize)",
                ),
                value(
                    db,
                    f"SELECT count(*) FROM (SELECT id FROM {table}_docsize EXCEPT {indexed})",
                ),
            )
        except apsw.Error as error:
            yield Finding("index", f"{table}: {error}")
            continue
        if missing or extra:
            yield Finding("index", f"{table}: {missing} entries missing, {extra} too many")
