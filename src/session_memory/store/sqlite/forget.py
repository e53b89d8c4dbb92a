"""Forgetting: rows, texts, index entries and every figure derived from them, and no way back.

What stays are keyed hashes (tombstones), by which the next sweep knows what it must not bring
back. Without both the log and the store's key, they reveal nothing about the content.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from session_memory.core.fingerprint import path_name, session_name
from session_memory.store.segments import SegmentStore
from session_memory.store.sqlite import checksums, retention
from session_memory.store.sqlite.connection import Database, rows, transaction, value
from session_memory.store.sqlite.ids import event_range
from session_memory.store.sqlite.manifests import repack
from session_memory.store.sqlite.rewrite import note_erasing, rewrite_session
from session_memory.store.sqlite.settle import settle_usage

_encode = msgspec.json.Encoder().encode


def with_subagents(db: Database, sessions: set[int]) -> set[int]:
    """These sessions and all their sub-agents, at any depth."""
    family = set(sessions)
    while True:
        children = {
            row[0]
            for row in rows(
                db,
                "SELECT c.id FROM session c JOIN session p ON p.flavor = c.flavor"
                " AND p.external_id = c.parent_external_id"
                " WHERE p.id IN (SELECT value FROM json_each(?))",
                (_encode(sorted(family)).decode(),),
            )
        }
        if children <= family:
            return family
        family |= children


def forget_sessions(
    db: Database, segments: SegmentStore, key: bytes, sessions: set[int]
) -> set[int]:
    """Forget whole sessions; returns others that held copies of their events."""
    touched: set[int] = set()
    for session_id in sorted(sessions):
        touched |= _forget_session(db, segments, key, session_id)
    return touched - sessions


def _forget_session(db: Database, segments: SegmentStore, key: bytes, session_id: int) -> set[int]:
    """Forget one session; its copies in forks go first, so that a crash leaves it to repeat."""
    own, keys = hashes_of(db, session_id)
    with transaction(db):
        bury(db, own | keys)
    copies = _holders(db, own) - {session_id}
    for other in copies:
        rewrite_session(
            db, segments, other, lambda event: None if event.fingerprint in own else event
        )
    with transaction(db):
        note_erasing(db)
        wanted = _encode(sorted(keys)).decode()
        db.execute("DELETE FROM usage WHERE key IN (SELECT value FROM json_each(?))", (wanted,))
        for other in copies:
            db.execute(
                "DELETE FROM evicted_event WHERE session_id = ? AND fingerprint IN"
                " (SELECT fingerprint FROM tombstone)",
                (other,),
            )
        for other in copies | _delete_session(db, key, session_id):
            repack(db, segments, other)  # its segments name the forgotten session, too
    return copies


def hashes_of(db: Database, session_id: int) -> tuple[set[int], set[int]]:
    """The hashes of a session's own events, and of the responses counted in it."""
    own = rows(
        db,
        "SELECT fingerprint FROM event WHERE id BETWEEN ? AND ? AND inherited = 0"
        " UNION SELECT fingerprint FROM evicted_event WHERE session_id = ? AND inherited = 0",
        (*event_range(session_id), session_id),
    )
    keys = rows(db, "SELECT key FROM usage WHERE session_id = ? AND counted = 1", (session_id,))
    return {row[0] for row in own}, {row[0] for row in keys}


def bury(db: Database, fingerprints: set[int]) -> None:
    """Note fingerprints that must never come back."""
    db.executemany("INSERT OR IGNORE INTO tombstone VALUES (?)", [(f,) for f in fingerprints])


def _holders(db: Database, fingerprints: set[int]) -> set[int]:
    selected = rows(
        db,
        "SELECT DISTINCT e.id >> 24 FROM json_each(?) j"
        " CROSS JOIN event e ON e.fingerprint = j.value",
        (_encode(sorted(fingerprints)).decode(),),
    )
    return {row[0] for row in selected}


def forget_notes(db: Database, in_place: Callable[[str], bool]) -> None:
    """Forget what hooks noted of sessions in such directories whose logs were never read."""
    selected = rows(
        db,
        "SELECT flavor, external_id, value FROM session_note n WHERE name = 'cwd' AND NOT EXISTS"
        " (SELECT 1 FROM session WHERE flavor = n.flavor AND external_id = n.external_id)",
    )
    gone = [(flavor, name) for flavor, name, cwd in selected if in_place(cwd)]
    if gone:
        with transaction(db):
            for flavor, name in gone:
                _delete_notes(db, flavor, name)
            note_erasing(db)


def _delete_notes(db: Database, flavor: str, external_id: str) -> None:
    for table in ("turn", "session_note", "injection"):
        db.execute(
            f"DELETE FROM {table} WHERE flavor = ? AND external_id = ?", (flavor, external_id)
        )


def _delete_session(db: Database, key: bytes, session_id: int) -> set[int]:
    """Delete a session; returns those that named it as their parent."""
    row = db.execute(
        "SELECT flavor, external_id, project_id, found_project_id FROM session WHERE id = ?",
        (session_id,),
    ).fetchone()
    if row is None:
        return set()
    flavor, external_id, project_id, found_project_id = row
    ids = event_range(session_id)
    db.execute(
        "INSERT OR IGNORE INTO forgotten_session VALUES (?)",
        (session_name(key, flavor, external_id),),
    )
    db.execute(
        "INSERT OR IGNORE INTO doomed_segment SELECT name FROM segment WHERE session_id = ?",
        (session_id,),
    )
    keys = {row[0] for row in rows(db, "SELECT key FROM usage WHERE session_id = ?", (session_id,))}
    sources = rows(db, "SELECT source_id FROM session_source WHERE session_id = ?", (session_id,))
    for table, level in (("event_text", 0), ("turn_text", 1)):
        indexed = rows(
            db, "SELECT id FROM event WHERE id BETWEEN ? AND ? AND indexed > ?", (*ids, level)
        )
        db.executemany(f"DELETE FROM {table} WHERE rowid = ?", indexed)
    db.execute("DELETE FROM event WHERE id BETWEEN ? AND ?", ids)
    db.execute("DELETE FROM eviction WHERE session_id = ?", (session_id,))
    _delete_notes(db, flavor, external_id)
    db.execute(
        "UPDATE session SET forked_from = NULL WHERE flavor = ? AND forked_from = ?",
        (flavor, external_id),
    )
    forks = rows(  # a fork names its parent
        db,
        "DELETE FROM fact WHERE name = 'forked_from' AND value = ? AND session_id IN"
        " (SELECT id FROM session WHERE flavor = ?) RETURNING session_id",
        (_encode(external_id).decode(), flavor),
    )
    db.execute("DELETE FROM session WHERE id = ?", (session_id,))  # the rest follows by cascade
    settle_usage(db, keys)
    for (source_id,) in sources:
        _forget_source(db, key, source_id)
    for each in (found_project_id, project_id):
        _forget_project(db, each)
    return {row[0] for row in forks} - {session_id}


def _forget_project(db: Database, project_id: int | None) -> None:
    """A project that no session is in goes, also as a place where patterns were seen."""
    gone = rows(
        db,
        "DELETE FROM project WHERE id = ?1 AND NOT EXISTS (SELECT 1 FROM session"
        " WHERE project_id = ?1 OR found_project_id = ?1) RETURNING key",
        (project_id,),
    )
    db.executemany(  # the next detection counts them again
        "UPDATE pattern SET repos = '{}' WHERE EXISTS"
        " (SELECT 1 FROM json_each(pattern.repos) WHERE key = ?)",
        gone,
    )


def _forget_source(db: Database, key: bytes, source_id: int) -> None:
    """A file without any session left is remembered by its hash alone."""
    if value(db, "SELECT 1 FROM session_source WHERE source_id = ?", (source_id,)):
        return
    row = db.execute(
        "SELECT path, device, inode, size, mtime_ns, ctime_ns FROM source WHERE id = ?",
        (source_id,),
    ).fetchone()
    if row is not None:
        note_source(db, path_name(key, row[0]), row[1:])
        db.execute("DELETE FROM source WHERE id = ?", (source_id,))


def note_source(db: Database, name: int, stamp: tuple[int, ...]) -> None:
    """Remember how a forgotten file looked, so that it is not read at every sweep."""
    db.execute("INSERT OR REPLACE INTO forgotten_source VALUES (?, ?, ?, ?, ?, ?)", (name, *stamp))


def forget_events(
    db: Database, segments: SegmentStore, session_id: int, fingerprints: set[int]
) -> int:
    """Forget single events of a session; returns how many went."""
    with transaction(db):
        bury(db, fingerprints)
    return rewrite_session(
        db,
        segments,
        session_id,
        lambda event: None if event.fingerprint in fingerprints else event,
    ).dropped


def erase_traces(db: Database, segments: SegmentStore) -> None:
    """Make sure that nothing forgotten is left in free pages, the index or the log."""
    retention.remove_doomed(db, segments)
    retention.optimize(db)
    db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    checksums.vacuum(db)
    db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    with transaction(db):
        db.execute("DELETE FROM meta WHERE name = 'erase_due'")


def finish_erasing(db: Database, segments: SegmentStore) -> None:
    """Erase what an earlier forgetting dropped, if it was cut off before it could."""
    if value(db, "SELECT 1 FROM meta WHERE name = 'erase_due'"):
        erase_traces(db, segments)


def log_paths(db: Database, sessions: set[int]) -> list[str]:
    """The files that sessions were read from."""
    selected = rows(
        db,
        "SELECT DISTINCT path FROM source JOIN session_source ON source_id = source.id"
        " WHERE session_id IN (SELECT value FROM json_each(?)) ORDER BY path",
        (_encode(sorted(sessions)).decode(),),
    )
    return [row[0] for row in selected]


def tombstoned(db: Database, fingerprints: list[int]) -> set[int]:
    """Those of the fingerprints that were forgotten."""
    selected = rows(
        db,
        "SELECT t.fingerprint FROM json_each(?) j CROSS JOIN tombstone t"
        " ON t.fingerprint = j.value",
        (_encode(fingerprints).decode(),),
    )
    return {row[0] for row in selected}
