"""What a sweep needs first: which log files are known, and which sessions still need work."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from session_memory.core.cursor import Cursor, Stamp
from session_memory.core.digest import DIGEST_VERSION
from session_memory.core.fingerprint import path_name, session_name
from session_memory.core.schema import SessionEvent
from session_memory.store.segments import SegmentReader
from session_memory.store.sqlite import checkpoints, lost_events, queries, usage
from session_memory.store.sqlite.connection import Database, rows, value
from session_memory.store.sqlite.ids import event_range
from session_memory.store.values import Checkpoint, Undistilled


def set_aside(db: Database, source_id: int, path: str) -> None:
    """Give a source another name: what was read from it is kept like that of a vanished file."""
    number = 1
    while value(db, "SELECT 1 FROM source WHERE path = ?", (f"{path} (cut, {number})",)):
        number += 1
    db.execute("UPDATE source SET path = ? WHERE id = ?", (f"{path} (cut, {number})", source_id))


def cut_before(db: Database, aside: int) -> list[int]:
    """Sources that were set aside, when the same file was cut before, the first one first."""
    path = value(db, "SELECT path FROM source WHERE id = ?", (aside,)).rpartition(" (cut, ")[0]
    names = (f"{path} (cut, 1", f"{path} (cut, :", aside)
    sql = "SELECT id FROM source WHERE path BETWEEN ? AND ? AND id < ? ORDER BY id"
    return [row[0] for row in rows(db, sql, names)]


def absorb(db: Database, aside: int, source_id: int) -> None:
    """Drop a source that was set aside; its superseded events go to the one in its place."""
    db.execute(
        "INSERT INTO session_source (session_id, source_id, evicted_to)"
        " SELECT session_id, ?, evicted_to FROM session_source WHERE source_id = ? ON CONFLICT"
        " DO UPDATE SET evicted_to = max(evicted_to, excluded.evicted_to)",
        (source_id, aside),
    )
    for (session_id,) in rows(
        db, "SELECT session_id FROM session_source WHERE source_id = ?", (aside,)
    ):
        db.execute(
            "UPDATE event SET source_id = ? WHERE id BETWEEN ? AND ? AND source_id = ?",
            (source_id, *event_range(session_id), aside),
        )
    for table in ("event_copy", "fact", "quarantine", "session_source"):
        db.execute(f"DELETE FROM {table} WHERE source_id = ?", (aside,))
    db.execute("DELETE FROM source WHERE id = ?", (aside,))


def _cursors(db: Database, where: str, bound: tuple[str, ...]) -> Iterator[Cursor]:
    for row in rows(
        db,
        "SELECT id, device, inode, size, mtime_ns, ctime_ns, head_hash, tail_hash, read_to,"
        f" state, parser_version FROM source WHERE {where}",
        bound,
    ):
        state: dict[str, Any] = msgspec.json.decode(row[9])
        yield Cursor(row[0], row[1:6], row[6], row[7], row[8], state, row[10])


class SourceReads:
    """Part of SqliteStore."""

    _db: Database
    _reader: SegmentReader
    fingerprint_key: bytes

    def stamps(self, flavor: str) -> dict[str, tuple[Stamp, int]]:
        """See store.port.Store."""
        return {
            row[0]: (row[1:6], row[6])
            for row in self._db.execute(
                "SELECT path, device, inode, size, mtime_ns, ctime_ns, parser_version"
                " FROM source WHERE flavor = ?",
                (flavor,),
            )
        }

    def cursor(self, path: str) -> Cursor | None:
        """See store.port.Store."""
        return next(_cursors(self._db, "path = ?", (path,)), None)

    def sharing(self, source_id: int) -> bool:
        """See store.port.Store."""
        return (
            value(
                self._db,
                "SELECT 1 FROM session_source a JOIN session_source b"
                " ON b.session_id = a.session_id AND b.source_id != a.source_id"
                " WHERE a.source_id = ? LIMIT 1",
                (source_id,),
            )
            is not None
        )

    def hashed_roots(self) -> dict[int, str]:
        """See store.port.Store."""
        selected = rows(
            self._db,
            "SELECT s.id, f.value ->> '$' FROM session s JOIN project p ON p.id = s.project_id"
            " JOIN fact f ON f.session_id = s.id AND f.name = 'root_hash'"
            " WHERE s.cwd IS NULL AND p.root IS NULL ORDER BY s.id",
        )
        return {row[0]: row[1] for row in selected}

    def set_aside(self, path: str) -> list[Cursor]:
        """See store.port.Store."""
        names = (f"{path} (cut, 1", f"{path} (cut, :")
        return list(_cursors(self._db, "path BETWEEN ? AND ? ORDER BY id", names))

    def sole_sessions(self, source_id: int) -> set[int]:
        """See store.port.Store."""
        selected = rows(
            self._db,
            "SELECT s.id FROM session_source l JOIN session s ON s.id = l.session_id"
            " WHERE l.source_id = ?1 AND (s.raw_events = 0 OR EXISTS (SELECT 1 FROM event e"
            " WHERE e.id BETWEEN s.id << 24 AND (s.id + 1 << 24) - 1 AND e.source_id = ?1"
            " AND NOT e.superseded))",
            (source_id,),
        )
        return {row[0] for row in selected}

    def span(self, flavor: str) -> tuple[int, int | None]:
        """See store.port.Store."""
        row = self._db.execute(
            "SELECT count(*), min(started_at) FROM session WHERE flavor = ? AND event_count > 0",
            (flavor,),
        ).fetchone()
        return int(row[0]), row[1]

    def is_forgotten(self, flavor: str, external_id: str) -> bool:
        """See store.port.CaptureStore."""
        own = session_name(self.fingerprint_key, flavor, external_id)
        if value(self._db, "SELECT 1 FROM forgotten_session WHERE name = ?", (own,)):
            return True
        from session_memory.store.sqlite.marks import others_in

        return any(
            session_name(keys.fingerprint, flavor, external_id) in gone.sessions
            for keys, gone in others_in(self._db).items()
        )

    def is_forgotten_source(self, path: str, stamp: Stamp) -> bool:
        """See store.port.CaptureStore."""
        stored_stamp = self._db.execute(
            "SELECT device, inode, size, mtime_ns, ctime_ns FROM forgotten_source WHERE path = ?",
            (path_name(self.fingerprint_key, path),),
        ).fetchone()
        return stored_stamp == stamp

    def unplaced(self) -> list[int]:
        """See store.port.Store."""
        selected = rows(
            self._db,
            "SELECT id FROM session WHERE project_id IS NULL AND state != 'forgotten' ORDER BY id",
        )
        return [row[0] for row in selected]

    def price_table(self) -> str | None:
        """See store.port.CaptureStore."""
        return usage.price_table(self._db)

    def missing_parts(self) -> list[tuple[str, str, str, str]]:
        """See store.port.Store."""
        selected = rows(
            self._db,
            "SELECT s.flavor, s.external_id, json_extract(f.value, '$'), o.path FROM fact f"
            " JOIN session s ON s.id = f.session_id JOIN source o ON o.id = f.source_id"
            " WHERE f.name = 'missing_part'",
        )
        return [(row[0], row[1], row[2], row[3]) for row in selected]

    def lost_events(self, session_id: int) -> int:
        """See store.port.Store."""
        sql = "SELECT count(*) FROM evicted_event WHERE session_id = ? AND lost = 1"
        return int(value(self._db, sql, (session_id,)))

    def undistilled(self) -> list[Undistilled]:
        """See store.port.Store."""
        return lost_events.undistilled(self._db)

    def checkpoint(self, session_id: int) -> Checkpoint | None:
        """See store.port.Store."""
        return checkpoints.load(self._db, session_id)

    def events_to_distil(self, session_id: int, from_seq: int = 0) -> Iterator[SessionEvent]:
        """See store.port.Store."""
        return queries.events_to_distil(self._db, session_id, self._reader, from_seq)

    def unanalyzed(self) -> list[int]:
        """See store.port.Store."""
        selected = rows(self._db, "SELECT id FROM session WHERE state = 'captured'")
        return sorted(row[0] for row in selected)  # ORDER BY would make SQLite scan the table

    def outdated(self, limit: int) -> list[int]:
        """See store.port.Store."""
        selected = rows(  # by its index: an idle sweep needs this, however many sessions there are
            self._db,
            "SELECT id FROM session WHERE raw_events > 0 AND observer < ? AND state = 'analyzed'"
            " LIMIT ?",
            (DIGEST_VERSION, limit),
        )
        return sorted(row[0] for row in selected)

    def unread_logs(self) -> list[str]:
        """See store.port.Store."""
        selected = rows(
            self._db,
            "SELECT path FROM source WHERE id IN (SELECT source_id FROM quarantine)"
            " AND id NOT IN (SELECT source_id FROM session_source) ORDER BY path",
        )
        return [row[0] for row in selected]

    def quarantined(self) -> list[tuple[str, int, int]]:
        """See store.port.Store."""
        selected = rows(
            self._db,
            "SELECT s.path, q.pos, q.at FROM quarantine q JOIN source s ON s.id = q.source_id"
            " ORDER BY s.path, q.pos",
        )
        return [(row[0], row[1], row[2]) for row in selected]
