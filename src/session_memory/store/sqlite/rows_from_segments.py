"""Making rows again from segments, which say whose texts they hold; see store.manifest."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import msgspec

from session_memory.core.facts import Fact
from session_memory.core.fingerprint import session_name
from session_memory.core.hashing import blake2b
from session_memory.errors import StoreDamaged
from session_memory.store.manifest import EventRow, Manifest, decode, events, key_mark
from session_memory.store.segments import (
    DirectorySegments,
    digest_of,
    manifest_bytes,
    session_of,
    unpack,
)
from session_memory.store.sqlite import settle, statements
from session_memory.store.sqlite.connection import Database, rows, value
from session_memory.store.sqlite.ids import SEQ_BITS, SEQ_MASK, event_range
from session_memory.store.sqlite.merge import Names
from session_memory.store.values import Repaired

_encode = msgspec.json.Encoder().encode
_INSERT_EVENT = (
    "INSERT INTO event (id, source_id, pos, at, kind, origin, tool, tool_class, call_id, is_error,"
    " exit_code, files, command, usage_key, fingerprint, superseded, label, segment_id, body_at,"
    " body_len) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
)


def read_manifest(segments: DirectorySegments, name: str) -> tuple[Manifest | None, bytes]:
    """What a segment says about itself, if it does, and its text."""
    text = unpack(segments, name)
    data = manifest_bytes(segments, name)
    return (None if data is None else decode(data, text)), text


def session_names(segments: DirectorySegments) -> Names:
    """Session number to its name, for numbers that belong to one session only."""
    natives: dict[int, set[tuple[str, str]]] = {}
    for name in segments.names():
        try:
            manifest, _ = read_manifest(segments, name)
        except (StoreDamaged, OSError):
            continue
        if manifest is not None:
            native = (manifest.flavor, manifest.external_id)
            natives.setdefault(session_of(name), set()).add(native)
    return {number: next(iter(names)) for number, names in natives.items() if len(names) == 1}


class _Adopted(msgspec.Struct):
    sessions: set[int] = set()
    events: int = 0
    keys: set[int] = set()
    projects: dict[int, Manifest] = {}
    """Session to the newest segment that names its project."""


def adopt(db: Database, segments: DirectorySegments, key: bytes) -> list[Repaired]:
    """Add every event that is in a segment and in no row; the newest file counts."""
    forgotten = {row[0] for row in rows(db, "SELECT name FROM forgotten_session")}
    doomed = {row[0] for row in rows(db, "SELECT name FROM doomed_segment")}
    done, mark = _Adopted(), key_mark(key)

    def is_forgotten(manifest: Manifest) -> bool:
        names = (manifest.external_id, manifest.parent)
        return any(n and session_name(key, manifest.flavor, n) in forgotten for n in names)

    for name in sorted(segments.names(), key=segments.written_at, reverse=True):
        if name in doomed:
            continue
        try:
            manifest, text = read_manifest(segments, name)
        except (StoreDamaged, OSError):
            continue
        if manifest is None or (manifest.key != mark and _has_log(manifest)):
            continue  # with another key, events of the log would not be recognised
        segment_id = value(db, "SELECT id FROM segment WHERE name = ?", (name,))
        if is_forgotten(manifest) or not (
            _adopt_segment(db, segments, (name, segment_id, len(text)), manifest, done)
            or segment_id
        ):
            db.execute("INSERT OR IGNORE INTO doomed_segment VALUES (?)", (name,))
    _settle(db, done)
    if not done.events:
        return []
    detail = f"{done.events} events of {len(done.sessions)} sessions made again from their texts"
    return [Repaired("database", detail)]


def _has_log(manifest: Manifest) -> bool:
    return any(os.path.exists(path) for _, path in manifest.sources)


def _adopt_segment(
    db: Database,
    segments: DirectorySegments,
    place: tuple[str, int | None, int],
    manifest: Manifest,
    done: _Adopted,
) -> bool:
    """Take what is missing from one segment; returns whether anything was."""
    name, segment_id, text_bytes = place
    session = _session(db, manifest, segments.written_at(name))
    held = {
        row[0]: row[1:]
        for row in rows(
            db,
            "SELECT e.fingerprint, e.id, e.segment_id, s.path LIKE 'recovered-%' FROM event e"
            " JOIN source s ON s.id = e.source_id WHERE e.id BETWEEN ? AND ?",
            event_range(session),
        )
    }
    gone = {
        row[0]
        for row in rows(
            db,
            "SELECT fingerprint FROM evicted_event WHERE session_id = ? AND lost = 0",
            (session,),
        )
    }
    listed = events(manifest.columns)
    missing = [e for e in listed if e.fingerprint not in held and e.fingerprint not in gone]
    without = [
        e for e in listed if e.body_len and e.fingerprint in held and held[e.fingerprint][1] is None
    ]
    homeless = [e for e in listed if e.fingerprint in held and held[e.fingerprint][2]]
    if not (missing or without or homeless):
        return False
    if segment_id is None:
        data = segments.read(name)
        db.execute(
            "INSERT INTO segment (session_id, name, bytes, text_bytes, hash)"
            " VALUES (?, ?, ?, ?, ?)",
            (session, name, len(data), text_bytes, digest_of(data)),
        )
        segment_id = db.last_insert_rowid()
    sources = [_source(db, session, *source) for source in manifest.sources]
    number = _numbers(db, session)
    for event in missing:
        db.execute(_INSERT_EVENT, _row(event, number(event.seq), sources, segment_id))
    for event in without:
        db.execute(
            "UPDATE event SET segment_id = ?, body_at = ?, body_len = ? WHERE id = ?",
            (segment_id, event.body_at, event.body_len, held[event.fingerprint][0]),
        )
    for event in homeless:
        db.execute(
            "UPDATE event SET source_id = ?, pos = ? WHERE id = ?",
            (sources[event.source], event.pos, held[event.fingerprint][0]),
        )
    stated = [
        (session, sources[fact.source], Fact(fact.name, fact.value, fact.pos))
        for fact in manifest.facts
    ]
    statements.add_facts(db, stated)
    buried = {row[0] for row in rows(db, "SELECT fingerprint FROM tombstone")}
    usages = [(session, usage) for usage in manifest.usages if usage.key not in buried]
    statements.add_usage(db, usages)
    done.projects.setdefault(session, manifest)
    done.sessions.add(session)
    done.events += len(missing) + len(without)
    done.keys |= {usage.key for _, usage in usages}
    return True


def _session(db: Database, manifest: Manifest, captured_at: int) -> int:
    identity = (manifest.flavor, manifest.external_id)
    db.execute(
        "INSERT OR IGNORE INTO session (flavor, external_id, parent_external_id, captured_at,"
        " raw_captured_at) VALUES (?, ?, ?, ?, ?)",
        (*identity, manifest.parent, captured_at, captured_at),
    )
    return int(
        value(db, "SELECT id FROM session WHERE flavor = ? AND external_id = ?", identity) or 0
    )


def _source(db: Database, session: int, flavor: str, path: str) -> int:
    db.execute(statements.INSERT_SOURCE, (flavor, path))
    source = int(value(db, "SELECT id FROM source WHERE path = ?", (path,)) or 0)
    db.execute(
        "INSERT OR IGNORE INTO session_source (session_id, source_id) VALUES (?, ?)",
        (session, source),
    )
    return source


def _numbers(db: Database, session: int) -> Callable[[int], int]:
    """Gives an event the number it had where that is free, else the next one."""
    first, last = event_range(session)
    taken = {row[0] for row in rows(db, "SELECT id FROM event WHERE id BETWEEN ? AND ?",
                                    (first, last))}  # fmt: skip
    stated = value(db, "SELECT next_seq FROM session WHERE id = ?", (session,))
    following = max([first + int(stated or 0), *(number + 1 for number in taken)])

    def number(seq: int) -> int:
        nonlocal following
        event_id = (session << SEQ_BITS) | (seq & SEQ_MASK)
        if event_id in taken:
            event_id = following
        taken.add(event_id)
        following = max(following, event_id + 1)
        return event_id

    return number


def _row(event: EventRow, number: int, sources: list[int], segment_id: int) -> tuple[Any, ...]:
    columns: tuple[Any, ...] = msgspec.structs.astuple(event)
    place = (segment_id, *columns[-2:]) if event.body_len else (None, 0, 0)
    return (number, sources[event.source], *columns[2:-2], *place)


def _project(db: Database, session: int, manifest: Manifest) -> None:
    """The project as it was resolved when the directory may still have been there."""
    project = manifest.project
    if project is None:
        return
    db.execute(
        "INSERT OR IGNORE INTO project (key, root, remote, worktree_of, domain, source, confidence)"
        " VALUES (?, ?, ?, ?, ?, ?, ?)",
        msgspec.structs.astuple(project)[:7],
    )
    row = db.execute(
        "SELECT id, root, domain FROM project WHERE key = ? OR root = ? ORDER BY key != ? LIMIT 1",
        (project.key, project.root, project.key),
    ).fetchone()
    metadata = {f"project_resolution_{name}": detail for name, detail in project.resolution.items()}
    db.execute(
        "UPDATE session SET project_id = ?, repo = ?, domain = ?,"
        " metadata = json_patch(metadata, ?) WHERE id = ?",
        (row[0], project.repo, row[2],
         _encode({**metadata, "project_root_path": row[1]}).decode(), session),
    )  # fmt: skip


def _settle(db: Database, done: _Adopted) -> None:
    settle.settle_sessions(db, done.sessions)
    for session_id, manifest in done.projects.items():
        _project(db, session_id, manifest)
    settle.settle_forks(db, settle.shared_fingerprints(db, done.sessions))
    settle.settle_usage(db, done.keys)


def sort_loose(db: Database, segments: DirectorySegments, folder: str) -> list[Repaired]:
    """Files without a row that do not say whose they are: kept elsewhere unless a copy is here."""
    stored_names = {row[0] for row in rows(db, "SELECT name FROM segment")}
    stored_names |= {row[0] for row in rows(db, "SELECT name FROM doomed_segment")}
    loose = [name for name in segments.names() if name not in stored_names]
    if not loose:
        return []
    here = {
        blake2b(unpack(segments, name), digest_size=16).digest()
        for (name,) in rows(db, "SELECT name FROM segment")
    }
    moved = 0
    for name in loose:
        try:
            text = unpack(segments, name)
        except (StoreDamaged, OSError):
            text = b""
        if text and blake2b(text, digest_size=16).digest() in here:
            db.execute("INSERT OR IGNORE INTO doomed_segment VALUES (?)", (name,))
            continue
        segments.move_to(name, folder)
        moved += 1
    detail = f"{moved} files of texts fit no event; they are kept in {folder}"
    return [Repaired("segments", detail, lost=moved)] if moved else []
