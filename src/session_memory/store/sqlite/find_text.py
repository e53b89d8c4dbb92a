"""Looking for a text everywhere it could stand, to forget it or to prove that it is gone."""

from __future__ import annotations

import os
from collections.abc import Iterator

import msgspec

from session_memory.file_names import name_to_text
from session_memory.store.port import TextHit
from session_memory.store.segments import SegmentReader, SegmentStore, manifest_bytes, unpack
from session_memory.store.sqlite import queries
from session_memory.store.sqlite.connection import Database, rows, value


class Needle:
    """A text as it can stand in the store: plain, or escaped inside a JSON document."""

    def __init__(self, text: str, *, ignore_case: bool = False) -> None:
        escaped = msgspec.json.encode(text).decode()[1:-1]
        self._fold = ignore_case
        self.forms = tuple(dict.fromkeys(self._folded(form) for form in (text, escaped)))
        self._bytes_forms = tuple(form.encode("utf-8", "replace") for form in self.forms)

    def _folded(self, text: str) -> str:
        return text.casefold() if self._fold else text

    def occurs(self, text: str | None) -> bool:
        """Whether a text contains it."""
        return text is not None and any(form in self._folded(text) for form in self.forms)

    def in_bytes(self, data: bytes) -> bool:
        """Whether a part of a raw file contains it."""
        if self._fold:
            return self.occurs(data.decode("utf-8", "replace"))
        return any(form in data for form in self._bytes_forms)

    @property
    def longest(self) -> int:
        """Bytes that two parts of a file share, so that no text is cut; folding may shorten it."""
        return 3 * max(map(len, self._bytes_forms))


_TEXT_COLUMNS = (
    ("digest", "body"),
    ("evicted_digest", "body"),
    ("fact", "value"),
    ("observation", "text"),
)


def find_text(db: Database, segments: SegmentStore, needle: Needle) -> list[TextHit]:
    """Per session: fingerprints of the events that hold it, and whether its fields do."""
    hits: list[TextHit] = []
    reader = SegmentReader(segments)
    for (session_id,) in rows(db, "SELECT id FROM session ORDER BY id"):
        fingerprints = {
            event.fingerprint
            for superseded in (False, True)
            for event in queries.events(db, session_id, reader, superseded=superseded)
            if any(map(needle.occurs, (event.text, event.command, event.label, *event.files)))
        }
        fields = any(
            needle.occurs(text)
            for table, column in _TEXT_COLUMNS
            for (text,) in rows(
                db, f"SELECT {column} FROM {table} WHERE session_id = ?", (session_id,)
            )
        )
        if fingerprints or fields:
            hits.append(TextHit(session_id, fingerprints, fields))
    return hits


def traces(db: Database, segments: SegmentStore, directory: str, needle: Needle) -> Iterator[str]:
    """Every place where a text still stands; none means that it is gone."""
    for table in _tables(db):
        columns = [row[1] for row in rows(db, f'PRAGMA table_info("{table}")')]
        for column in columns:
            for (cell,) in db.execute(f'SELECT "{column}" FROM "{table}"'):
                text = cell.decode("utf-8", "replace") if isinstance(cell, bytes) else cell
                if isinstance(text, str) and needle.occurs(text):
                    yield f"table {table}, column {column}"
                    break
    for (name,) in rows(db, "SELECT name FROM segment"):
        parts = (unpack(segments, name), manifest_bytes(segments, name) or b"")
        if any(needle.occurs(text.decode("utf-8", "replace")) for text in parts):
            yield f"segment {name}"
    yield from _index_leftovers(db, needle)
    for folder, _, names in os.walk(directory):
        for name in names:
            path = os.path.join(folder, name)
            if _in_file(path, needle):
                yield f"file {name_to_text(os.path.relpath(path, directory))}"


def _tables(db: Database) -> list[str]:
    selected = rows(
        db, "SELECT name FROM sqlite_master WHERE type = 'table' AND sql NOT LIKE '%fts5%'"
    )
    return [row[0] for row in selected if not str(row[0]).startswith("sqlite_")]


def _index_leftovers(db: Database, needle: Needle) -> Iterator[str]:
    """Words that stand in an index although no row has them: deleted, but not erased."""
    words = {word for form in needle.forms for word in form.lower().split() if word.isalnum()}
    for table in ("event_text", "turn_text", "observation_text"):
        db.execute(f"CREATE VIRTUAL TABLE temp.words USING fts5vocab(main, {table}, row)")
        try:
            for word in words:
                in_index = value(db, "SELECT 1 FROM temp.words WHERE term = ?", (word,))
                has_event = value(
                    db, f"SELECT 1 FROM {table} WHERE {table} MATCH ? LIMIT 1", (f'"{word}"',)
                )
                if in_index and not has_event:
                    yield f"index {table}"
                    break
        finally:
            db.execute("DROP TABLE temp.words")


def _in_file(path: str, needle: Needle) -> bool:
    try:
        with open(path, "rb") as file:
            rest = b""
            while data := file.read(1 << 20):
                window = rest + data
                if needle.in_bytes(window):
                    return True
                rest = window[-needle.longest :]
    except OSError:
        return False
    return False
