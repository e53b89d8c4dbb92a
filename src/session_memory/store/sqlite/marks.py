"""The forget marks inside the database, and bringing them together with the file next to it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial

import msgspec

from session_memory.core.fingerprint import fact_name, session_name, was_forgotten
from session_memory.core.schema import SessionEvent
from session_memory.store import marks as files
from session_memory.store.marks import Forgotten, Keys, Marks
from session_memory.store.segments import SegmentStore
from session_memory.store.sqlite import forget, observations
from session_memory.store.sqlite.connection import Database, rows, transaction, value
from session_memory.store.sqlite.manifests import repack
from session_memory.store.sqlite.rewrite import note_erasing, rewrite_session
from session_memory.store.sqlite.seen_marks import note_current
from session_memory.store.sqlite.settle import settle_sessions
from session_memory.store.values import MarksApplied

_OTHERS = "other_marks"
"""Row of `meta`: marks that were made with another store's key, as a file of marks."""


def marks_in(db: Database, keys: Keys) -> Marks:
    """All marks that the database holds."""
    own = Forgotten(
        frozenset(row[0] for row in rows(db, "SELECT fingerprint FROM tombstone")),
        frozenset(row[0] for row in rows(db, "SELECT name FROM forgotten_session")),
    )
    return files.merge(Marks({keys: own}), Marks(others_in(db)))


def others_in(db: Database) -> Mapping[Keys, Forgotten]:
    """The marks that were made with other keys."""
    stored = value(db, "SELECT value FROM meta WHERE name = ?", (_OTHERS,))
    return files.decode(bytes(stored), f"{_OTHERS} in the database").marks.by_key if stored else {}


def marks_of(db: Database, keys: Keys, sessions: Iterable[int]) -> Marks:
    """The marks that forgetting these sessions leaves."""
    events: set[int] = set()
    names: set[int] = set()
    for session_id in sessions:
        events = events.union(*forget.hashes_of(db, session_id))
        for row in rows(db, "SELECT flavor, external_id FROM session WHERE id = ?", (session_id,)):
            names.add(session_name(keys.fingerprint, *row))
    return Marks({keys: Forgotten(frozenset(events), frozenset(names))})


def marks_of_facts(db: Database, keys: Keys, words: Callable[[bytes], bytes]) -> Marks:
    """The marks of facts, such as titles, in which `words` replaces something.

    The whole fact is hashed and not the words: a short text could be guessed from its hash.
    """
    gone = {
        fact_name(keys.fingerprint, name, text)
        for name, said in rows(db, "SELECT DISTINCT name, value FROM fact")
        if words(data := str(said).encode()) is not data and (text := _text(said)) is not None
    }
    return Marks({keys: Forgotten(events=frozenset(gone))})


def _text(said: object) -> str | None:
    value = msgspec.json.decode(str(said))
    return value if isinstance(value, str) else None


def apply_marks(db: Database, segments: SegmentStore, directory: str, keys: Keys) -> MarksApplied:
    """Give file and database the marks of both, and drop what they say was forgotten.

    The file comes first: whatever is cut off after it is found and finished by the next call.
    """
    both = files.add_marks(directory, marks_in(db, keys), keys).marks
    with transaction(db):
        _insert(db, both, keys)
    doomed = forget.with_subagents(db, _forgotten_sessions(db, both))
    gone = _names(db, doomed)
    forget.forget_sessions(db, segments, keys.fingerprint, doomed)
    shortened = _drop_events(db, segments, both.under(keys.fingerprint).events)
    shortened |= _drop_events_of_others(db, segments, both.other_than(keys.fingerprint))
    shortened |= _drop_facts(db, segments, both)
    if shortened:
        with transaction(db):
            observations.drop_made(db, shortened)
    if doomed or shortened:
        forget.erase_traces(db, segments)
    done = files.add_marks(directory, marks_in(db, keys), keys)
    note_current(db, done.checksum)
    return MarksApplied(gone, _names(db, shortened))


def _insert(db: Database, marks: Marks, keys: Keys) -> None:
    own, others = marks.under(keys.fingerprint), marks.other_than(keys.fingerprint)
    forget.bury(db, set(own.events))
    names = [(name,) for name in own.sessions]
    db.executemany("INSERT OR IGNORE INTO forgotten_session VALUES (?)", names)
    if others:
        data, _ = files.encode(Marks(others), None)
        db.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (_OTHERS, data))


def _forgotten_sessions(db: Database, marks: Marks) -> set[int]:
    """Sessions that are stored although a mark of any key names them."""
    named = [(keys, gone.sessions) for keys, gone in marks.by_key.items() if gone.sessions]
    return {
        session_id
        for session_id, flavor, external_id in (
            rows(db, "SELECT id, flavor, external_id FROM session") if named else ()
        )
        if any(session_name(keys.fingerprint, flavor, external_id) in gone for keys, gone in named)
    }


def _names(db: Database, sessions: set[int]) -> tuple[tuple[str, str], ...]:
    selected = rows(
        db,
        "SELECT flavor, external_id FROM session WHERE id IN (SELECT value FROM json_each(?))"
        " ORDER BY flavor, external_id",
        (msgspec.json.encode(sorted(sessions)).decode(),),
    )
    return tuple((row[0], row[1]) for row in selected)


def _drop_events(db: Database, segments: SegmentStore, gone: frozenset[int]) -> set[int]:
    """Drop the events that marks name; returns the sessions that held some."""
    held = rows(
        db,
        "SELECT DISTINCT e.id >> 24 FROM tombstone t"
        " CROSS JOIN event e ON e.fingerprint = t.fingerprint",
    )
    for (session_id,) in held:
        rewrite_session(
            db, segments, session_id, lambda event: None if event.fingerprint in gone else event
        )
        _drop_made(db, session_id)
    return {row[0] for row in held}


def _drop_events_of_others(
    db: Database, segments: SegmentStore, others: Mapping[Keys, Forgotten]
) -> set[int]:
    """Drop events that marks of other keys name, as far as their text is here unredacted."""
    gone = [(keys.fingerprint, mark.events) for keys, mark in others.items() if mark.events]
    if not gone:
        return set()
    rewritten = {
        session_id
        for session_id, external_id in rows(db, "SELECT id, external_id FROM session")
        if rewrite_session(
            db,
            segments,
            session_id,
            partial(_unless_forgotten, gone, external_id),
        ).dropped
    }
    for session_id in rewritten:
        _drop_made(db, session_id)
    return rewritten


def _unless_forgotten(
    gone: list[tuple[bytes, frozenset[int]]], external_id: str, event: SessionEvent
) -> SessionEvent | None:
    body = (event.text or "").encode("utf-8", "replace")
    return None if was_forgotten(gone, event, body, external_id) else event


def _drop_made(db: Database, session_id: int) -> None:
    """Drop what may repeat words of forgotten events: the words themselves are not known here.

    Digest and observations are made again from the events that are left.
    """
    with transaction(db):
        for table in ("trace", "mined"):
            db.execute(f"DELETE FROM {table} WHERE session_id = ?", (session_id,))


def _drop_facts(db: Database, segments: SegmentStore, marks: Marks) -> set[int]:
    """Drop the facts that marks of any key name; returns their sessions."""
    gone = [(keys.fingerprint, mark.events) for keys, mark in marks.by_key.items() if mark.events]
    doomed = [
        row
        for row in (rows(db, "SELECT session_id, name, value FROM fact") if gone else ())
        if (text := _text(row[2])) is not None
        and any(fact_name(key, row[1], text) in events for key, events in gone)
    ]
    touched = {row[0] for row in doomed}
    if doomed:
        with transaction(db):
            note_erasing(db)
            db.executemany(
                "DELETE FROM fact WHERE session_id = ? AND name = ? AND value = ?", doomed
            )
            settle_sessions(db, touched)
            for session_id in touched:
                repack(db, segments, session_id)
    return touched
