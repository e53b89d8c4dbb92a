"""Changing what is stored of a session: dropping events, or replacing their words.

A session's texts are written again into one segment and its index entries made again, in one
transaction; the old files go afterwards. Nothing is edited in place: a crash keeps the old state.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import msgspec

from session_memory.core.index_text import BEFORE, index_text, is_turn, window_text
from session_memory.core.retention.estimate import index_estimate
from session_memory.core.schema import SessionEvent
from session_memory.store.segments import SegmentReader, SegmentStore
from session_memory.store.sqlite import checkpoints, observations, queries
from session_memory.store.sqlite.connection import Database, rows, transaction, value
from session_memory.store.sqlite.ids import event_range
from session_memory.store.sqlite.manifests import insert_segment, pack_session, repack
from session_memory.store.sqlite.places import Entries, Entry, choose_place, index_entries
from session_memory.store.sqlite.retention import remove_doomed
from session_memory.store.sqlite.settle import settle_sessions

Edit = Callable[[SessionEvent], SessionEvent | None]
"""The event as it shall be: the same object for no change, None to drop it."""

_encode = msgspec.json.Encoder().encode


class Rewritten(msgspec.Struct, frozen=True):
    """What a rewrite did to one session."""

    changed: int = 0
    dropped: int = 0


def rewrite_session(db: Database, segments: SegmentStore, session_id: int, edit: Edit) -> Rewritten:
    """Apply an edit to every event of a session, history included."""
    reader = SegmentReader(segments)
    left: list[SessionEvent] = []
    gone: list[int] = []
    changed = live = 0
    for superseded in (False, True):
        for event in queries.events(db, session_id, reader, superseded=superseded):
            edited = edit(event)
            if edited is None:
                gone.append(event.id)
                live += not superseded
                continue
            changed += edited is not event
            left.append(edited)
    if changed or gone:
        with transaction(db):
            note_erasing(db)
            checkpoints.drop_all(db)
            segment_id, text = _replace(db, session_id, left)
            _drop(db, session_id, gone, live)
            if text:  # after the rows: the segment records what they say
                packed = pack_session(db, session_id, text)
                segments.put([packed])
                insert_segment(db, segment_id, session_id, packed)
    return Rewritten(changed, len(gone))


def _replace(db: Database, session_id: int, events: list[SessionEvent]) -> tuple[int, bytes]:
    """Rows and index entries of the events; returns the segment they name, and its text."""
    bodies = [(event.text or "").encode("utf-8", "replace") for event in events]
    db.execute(
        "INSERT OR IGNORE INTO doomed_segment SELECT name FROM segment WHERE session_id = ?",
        (session_id,),
    )
    db.execute("DELETE FROM segment WHERE session_id = ?", (session_id,))
    segment_id = int(value(db, "SELECT max(id) FROM segment") or 0) + 1
    index_bytes = index_again(db, session_id, events)
    at = 0
    for event, body in zip(events, bodies, strict=True):
        db.execute(
            "UPDATE event SET segment_id = ?, body_at = ?, body_len = ?, command = ?, files = ?,"
            " tool = ?, label = ? WHERE id = ?",
            (
                segment_id if body else None,
                at if body else 0,
                len(body),
                event.command,
                _encode(event.files).decode() if event.files else None,
                event.tool,
                event.label,
                event.id,
            ),
        )
        at += len(body)
    db.execute(
        "UPDATE session SET index_bytes = ?, state = 'captured' WHERE id = ?",
        (index_bytes, session_id),
    )
    return segment_id, b"".join(bodies)


def index_again(db: Database, session_id: int, events: list[SessionEvent]) -> int:
    """Make a session's entries in both indexes again; returns their estimated size."""
    ids = event_range(session_id)
    for table, level in (("event_text", 0), ("turn_text", 1)):
        selected = rows(
            db, "SELECT id FROM event WHERE id BETWEEN ? AND ? AND indexed > ?", (*ids, level)
        )
        db.executemany(f"DELETE FROM {table} WHERE rowid = ?", selected)
    db.execute("UPDATE event SET indexed = 0 WHERE id BETWEEN ? AND ?", ids)
    turns: list[str] = []
    texts: list[Entry] = []
    windows: list[Entry] = []
    for event in events:
        words = index_text(
            event.kind,
            event.text or "",
            is_error=event.is_error,
            tool=event.tool,
            tool_class=event.tool_class,
            command=event.command,
            files=event.files,
            label=event.label,
        )
        if not words:
            continue
        texts.append((event.id, words))
        if is_turn(event.kind):
            windows.append((event.id, window_text(words, turns)))
            turns = [*turns, words][-BEFORE:]
    index_entries(db, [Entries(choose_place(db, session_id), texts, windows)])
    db.executemany("UPDATE event SET indexed = 1 WHERE id = ?", [(row[0],) for row in texts])
    db.executemany("UPDATE event SET indexed = 2 WHERE id = ?", [(row[0],) for row in windows])
    return sum(index_estimate(len(row[1])) for row in (*texts, *windows))


def _drop(db: Database, session_id: int, gone: list[int], live: int) -> None:
    """Delete events, of which `live` count: a session does not count superseded ones."""
    db.executemany("DELETE FROM event WHERE id = ?", [(event_id,) for event_id in gone])
    db.execute(
        "UPDATE session SET raw_events = raw_events - ?, event_count = event_count - ?"
        " WHERE id = ?",
        (len(gone), live, session_id),
    )


Words = Callable[[bytes], bytes]
"""A JSON document with its words replaced; the same object for no change."""

_DOCUMENTS = (
    ("digest", "body", "session_id"),
    ("evicted_digest", "body", "session_id"),
    ("fact", "value", "session_id"),
    ("session", "metadata", "id"),
    ("observation", "json_quote(text)", "session_id"),
    ("usage", "json_quote(model)", "session_id"),
)
"""(table, JSON text, session) of everything outside the segments that comes from a log."""
_PLAIN = re.compile(r"json_quote\((\w+)\)")
"""A column that holds text and not JSON."""


class ChangedDocument(msgspec.Struct, frozen=True):
    """A JSON document that a replacement changes, as it is stored and as it will be."""

    table: str
    column: str
    session: str
    """The column that names the session."""
    session_id: int
    old: str
    new: bytes


def changed_documents(db: Database, words: Words) -> Iterator[ChangedDocument]:
    """Every document outside the segments that a replacement would change."""
    for table, column, session in _DOCUMENTS:
        for old, session_id in rows(db, f"SELECT DISTINCT {column}, {session} FROM {table}"):
            data = str(old).encode()
            new = words(data)
            if new is not data:
                yield ChangedDocument(table, column, session, session_id, old, new)


def replace_words(db: Database, segments: SegmentStore, words: Words) -> set[int]:
    """Apply a replacement to digests and facts; returns the sessions it changed."""
    changed: set[int] = set()
    with transaction(db):
        checkpoints.drop_all(db)
        for document in changed_documents(db, words):
            plain = _PLAIN.fullmatch(document.column)
            column = plain[1] if plain else document.column
            stored = msgspec.json.decode(document.new) if plain else document.new.decode()
            db.execute(
                f"UPDATE {document.table} SET {column} = ?"
                f" WHERE {document.column} = ? AND {document.session} = ?",
                (stored, document.old, document.session_id),
            )
            changed.add(document.session_id)
        for source_id, state in rows(db, "SELECT id, state FROM source WHERE state IS NOT NULL"):
            data = str(state).encode()
            if (new := words(data)) is not data:
                db.execute("UPDATE source SET state = ? WHERE id = ?", (new.decode(), source_id))
                note_erasing(db)
        # Where several values of a fact stand side by side, each is also its own key.
        db.execute("UPDATE OR REPLACE fact SET slot = value WHERE slot NOT IN ('', value)")
        observations.index(db)
        settle_sessions(db, changed)
        for session_id in changed:  # segments record facts as well
            repack(db, segments, session_id)
        if changed:
            note_erasing(db)
    remove_doomed(db, segments)
    return changed


def note_erasing(db: Database) -> None:
    """Note that something was dropped whose words may still be in the files.

    Written with the rows that go: whatever happens then, the next sweep knows what is left to do.
    """
    db.execute("INSERT OR IGNORE INTO meta VALUES ('erase_due', x'01')")
