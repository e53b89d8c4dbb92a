"""Rebuilding a store whose database is damaged or missing, into a new file next to it.

Rows come from every database that was kept, oldest first, and from the one that was captured into
since; texts from the segments; the rest from the logs, whose cursors are reset so that the next
sweep reads them again: events are known by their fingerprint, so nothing doubles. Forget marks are
applied before the new database is put in place. Until then nothing that was there is changed.
"""

from __future__ import annotations

import contextlib
import os
from collections import Counter
from collections.abc import Callable, Mapping

import apsw
import msgspec

from session_memory.atomic_files import flush_directory, flush_file
from session_memory.errors import DatabaseDamaged, Refused, SessionMemoryError
from session_memory.store.damage import (
    DATABASE,
    SEGMENTS,
    UNCLAIMED,
    Damage,
    clear_damage,
    keep_aside,
    known_damage,
)
from session_memory.store.marks import Keys, read_marks
from session_memory.store.segments import DirectorySegments
from session_memory.store.sqlite import (
    check,
    merge,
    repair,
    row_repair,
    rows_from_segments,
    salvage,
    usage,
)
from session_memory.store.sqlite.connection import (
    Database,
    connect,
    create,
    migrate,
    rows,
    telling_damage,
    transaction,
    value,
)
from session_memory.store.sqlite.marks import apply_marks
from session_memory.store.sqlite.replacement import KEYS, MARKS, carry_over, remove_database
from session_memory.store.values import Repaired

NEW = DATABASE + ".rebuilt"
JOINED = "joined"
"""Row of `meta`: names of the kept databases whose rows are in this one."""
Step = Callable[[str], object]
"""Called with what is being done."""


class Rebuilt(msgspec.Struct):
    """What a rebuild found and did."""

    done: list[Repaired]
    expected: dict[tuple[str, str], int]
    """Session (flavour, native id) to the number of its events, as far as it is known."""


def find_damage(directory: str) -> str | None:
    """What is wrong with the database; None where it is whole and nothing waits to be joined."""
    damage = known_damage(directory)
    if damage is not None:
        return damage.message
    try:
        db = connect(os.path.join(directory, DATABASE))
    except DatabaseDamaged as error:
        return error.message
    try:
        with telling_damage():
            bad = [
                finding.detail for finding in check.database(db) if check.is_file_damage(finding)
            ]
    except DatabaseDamaged as error:
        return error.message
    finally:
        db.close()
    return bad[0] if bad else None


def sources(directory: str) -> list[str]:
    """Every database whose rows a rebuild joins, oldest first."""
    damage = known_damage(directory) or Damage(0, "")
    joined = _joined(directory)
    damaged = [os.path.join(directory, name) for name in damage.files if name not in joined]
    here = os.path.join(directory, DATABASE)
    paths = [*damaged, *([here] if os.path.exists(here) else [])]
    return [path for path in paths if os.path.exists(path)]


def _joined(directory: str) -> set[str]:
    with contextlib.suppress(SessionMemoryError), telling_damage():
        db = connect(os.path.join(directory, DATABASE))
        try:
            names = value(db, "SELECT value FROM meta WHERE name = ?", (JOINED,))
        finally:
            db.close()
        return set(msgspec.json.decode(names, type=list[str])) if names else set()
    return set()


def knows_forgotten(directory: str) -> bool:
    """Whether it is known what was forgotten: by the file of marks, or by a database."""
    file = read_marks(directory)
    if file is not None and file.keys is not None:
        return True
    return any(_has_marks(path) for path in sources(directory))


def _has_marks(path: str) -> bool:
    sample = _empty()
    tables = salvage.tables_of(sample)
    sample.close()
    with salvage.opened(path) as old:
        if old is None:
            return False
        names: set[object] = set()
        salvage.read_table(old, tables["meta"], ("name",), lambda row: names.add(row[0]))
        whole = [salvage.read_table(old, tables[table], (), lambda _row: None) for table in MARKS]
        return all(whole) and names >= set(KEYS)


def preview_rebuild(directory: str) -> list[Repaired]:
    """What a rebuild would find; changes nothing."""
    findings: list[Repaired] = []
    sample = _empty()
    tables = salvage.tables_of(sample)
    for path in sources(directory):
        counts: Counter[str] = Counter()
        bad: list[str] = []
        with salvage.opened(path) as old:
            if old is None:
                findings.append(
                    Repaired("database", f"{os.path.basename(path)}: nothing is readable")
                )
                continue
            for name in merge.SPECS:
                read_rows: list[None] = []
                if not salvage.read_table(
                    old, tables[name], (), lambda _, f=read_rows: f.append(None)
                ):
                    bad.append(name)
                counts[name] = len(read_rows)
        findings.append(Repaired("database", _summary(path, counts, bad, "readable")))
    sample.close()
    loose = sum(1 for _ in DirectorySegments(os.path.join(directory, SEGMENTS)).names())
    findings.append(
        Repaired("database", f"{loose} files of texts; every log that exists is read again")
    )
    return findings


def _empty() -> Database:
    db: Database = apsw.Connection(":memory:")  # pyright: ignore[reportAssignmentType]
    migrate(db, 0)
    return db


def _summary(path: str, counts: Mapping[str, int], bad: list[str], what: str) -> str:
    lost = f"; not all of: {', '.join(bad)}" if bad else ""
    sessions, events = counts.get("session", 0), counts.get("event", 0)
    return f"{os.path.basename(path)}: {sessions} sessions and {events} events {what}{lost}"


def rebuild(directory: str, now_ms: int, *, unmarked: bool, step: Step) -> Rebuilt:
    """Join everything that is left into a new database; the caller holds the sweep's lock."""
    if not unmarked and not knows_forgotten(directory):
        raise Refused(
            "the record of what you forgot cannot be read: logs could bring forgotten text back",
            hint="put forget-marks.json back from a backup, or add --without-marks to go on",
        )
    joined = _joined(directory)
    reason = find_damage(directory) or "rebuilt on request"
    damage = keep_aside(directory, now_ms, reason, most=None)
    files = tuple(name for name in damage.files if name not in joined)
    path = os.path.join(directory, NEW)
    remove_database(path)
    create(path)
    db = connect(path)
    try:
        db.execute("PRAGMA synchronous = OFF").fetchall()  # a file that a crash makes worthless
        db.execute("PRAGMA foreign_keys = 0").fetchall()
        migrate(db, now_ms)
        carry_over(db, directory, msgspec.structs.replace(damage, files=files))
        result, whole = _fill(db, directory, files, step)
        _finish(db, directory, step)
        detail = value(db, "PRAGMA integrity_check(1)")
        if detail != "ok":
            raise DatabaseDamaged(f"what was rebuilt is not whole: {detail}", hint="check the disk")
        db.execute("PRAGMA synchronous = FULL").fetchall()
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    finally:
        db.close()
    flush_file(path)
    os.rename(path, os.path.join(directory, DATABASE))
    flush_directory(directory)
    clear_damage(directory)
    for name in whole:  # what a sweep captured meanwhile, all of it taken over
        remove_database(os.path.join(directory, name))
    return result


def remove_stand_ins(directory: str) -> list[Repaired]:
    """After the logs were read again: drop what stood in for rows that have come back."""
    segments = DirectorySegments(os.path.join(directory, SEGMENTS))
    db = connect(os.path.join(directory, DATABASE))
    try:
        if value(db, "SELECT 1 FROM session WHERE external_id LIKE 'recovered-%'") or value(
            db, "SELECT 1 FROM source WHERE path LIKE 'recovered-%'"
        ):
            db.execute("PRAGMA foreign_keys = 0").fetchall()
            with transaction(db):
                row_repair.drop_doubles(db)
            repair.rebuild_index(db, segments)
        with transaction(db):
            return rows_from_segments.sort_loose(db, segments, os.path.join(directory, UNCLAIMED))
    finally:
        db.close()


def _fill(
    db: Database, directory: str, files: tuple[str, ...], step: Step
) -> tuple[Rebuilt, list[str]]:
    """Pour every database and make the rows fit each other."""
    damage = known_damage(directory)
    gone = damage is not None and damage.gone
    result, whole, unread = Rebuilt([], {}), list[str](), list[str]()
    segments = DirectorySegments(os.path.join(directory, SEGMENTS))
    names = rows_from_segments.session_names(segments)
    with transaction(db):
        for name in files:
            step(f"reading {name}")
            path = os.path.join(directory, name)
            with salvage.opened(path) as old:
                if old is None:
                    unread.append(name)
                    result.done.append(Repaired("database", f"{name}: nothing is readable"))
                    continue
                poured = merge.pour(old, db, names)
                detail = _summary(path, poured.rows, poured.unreadable, "taken over")
                result.done.append(Repaired("database", detail))
                result.done += _lost(name, poured)
                if not poured.unreadable and _is_sound(old):
                    whole.append(name)
            row_repair.drop_stand_ins(db)
        if unread or gone:
            detail = "lost, as only the database knew them: " + ", ".join(merge.ONLY_HERE.values())
            result.done.append(Repaired("database", detail, lost=1))
        result.expected = {
            (flavor, name): count
            for flavor, name, count in rows(
                db, "SELECT flavor, external_id, event_count FROM session WHERE event_count > 0"
            )
        }
        step("matching texts")
        result.done += row_repair.mend_texts(db, segments)
        key = value(db, "SELECT value FROM meta WHERE name = 'fingerprint_key'")
        result.done += rows_from_segments.adopt(db, segments, bytes(key))
        result.done += row_repair.mend_rows(db)
        _note_joined(db, directory)
    return result, whole


def _is_sound(old: Database) -> bool:
    try:
        return value(old, "PRAGMA quick_check(1)") == "ok"
    except apsw.Error:
        return False


def _lost(name: str, poured: merge.Poured) -> list[Repaired]:
    """What cannot be recovered from anywhere else."""
    gone = [merge.ONLY_HERE[t] for t in poured.unreadable if t in merge.ONLY_HERE]
    detail = f"{name}: some of these may be lost: {', '.join(dict.fromkeys(gone))}"
    return [Repaired("database", detail, lost=len(gone))] if gone else []


def _note_joined(db: Database, directory: str) -> None:
    damage = known_damage(directory)
    names = msgspec.json.encode(list(damage.files) if damage else [])
    db.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (JOINED, names))


def _finish(db: Database, directory: str, step: Step) -> None:
    """Forget marks first; then counts, figures and the index of what is left."""
    segments = DirectorySegments(os.path.join(directory, SEGMENTS))
    meta = dict(rows(db, "SELECT name, value FROM meta"))
    step("applying forget marks")
    apply_marks(db, segments, directory, Keys(*(bytes(meta[name]) for name in KEYS)))
    for layer in ("counts", "usage"):
        repair.repair(db, segments, layer, dry_run=False)
    usage.sum_up(db)
    step("making the index")
    repair.rebuild_index(db, segments)
