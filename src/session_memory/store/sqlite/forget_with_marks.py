"""The store's methods that forget, find and rewrite text.

What they call is imported when it is needed: few commands forget.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Generator

import msgspec

from session_memory.core.rescan import RescanMark
from session_memory.core.schema import SessionEvent
from session_memory.store.marks import Forgotten, Keys, Marks, add_marks
from session_memory.store.segments import DirectorySegments
from session_memory.store.sqlite.connection import Database, transaction, value
from session_memory.store.sqlite.seen_marks import is_current, note_current
from session_memory.store.values import Elsewhere, MarksApplied, TextHit


class ForgetWithMarks:
    """Part of SqliteStore: every forgetting goes into the file of marks before rows go."""

    _db: Database
    _directory: str
    segments: DirectorySegments
    fingerprint_key: bytes
    tag_key: bytes

    @property
    def keys(self) -> Keys:
        """The store's two keys."""
        return Keys(self.fingerprint_key, self.tag_key)

    def has_new_marks(self) -> bool:
        """See store.port.Store."""
        return not is_current(self._db, self._directory)

    def apply_marks(self) -> MarksApplied:
        """See store.port.Store."""
        from session_memory.store.sqlite import marks

        return marks.apply_marks(self._db, self.segments, self._directory, self.keys)

    def forgotten_elsewhere(self) -> Elsewhere:
        """See store.port.Store."""
        from session_memory.store.sqlite import marks

        others = marks.others_in(self._db).items()
        return tuple((keys.fingerprint, gone.events) for keys, gone in others if gone.events)

    def marks(self) -> Marks:
        """All forget marks that the database holds."""
        from session_memory.store.sqlite import marks

        return marks.marks_in(self._db, self.keys)

    def forget_sessions(self, sessions: set[int]) -> set[int]:
        """See store.port.Store."""
        from session_memory.store.sqlite import forget, marks

        whole = forget.with_subagents(self._db, sessions)
        with self._marking(marks.marks_of(self._db, self.keys, whole)):
            return forget.forget_sessions(self._db, self.segments, self.fingerprint_key, whole)

    def forget_notes(self, in_place: Callable[[str], bool]) -> None:
        """See store.port.Store."""
        from session_memory.store.sqlite import forget

        forget.forget_notes(self._db, in_place)

    def with_subagents(self, sessions: set[int]) -> set[int]:
        """See store.port.Store."""
        from session_memory.store.sqlite import forget

        return forget.with_subagents(self._db, sessions)

    def log_paths(self, sessions: set[int]) -> list[str]:
        """See store.port.Store."""
        from session_memory.store.sqlite import forget

        return forget.log_paths(self._db, sessions)

    def forget_events(self, session_id: int, fingerprints: set[int]) -> int:
        """See store.port.Store."""
        from session_memory.store.sqlite import forget

        gone = Marks({self.keys: Forgotten(events=frozenset(fingerprints))})
        with self._marking(gone):
            return forget.forget_events(self._db, self.segments, session_id, fingerprints)

    def forget_facts(self, words: Callable[[bytes], bytes]) -> None:
        """See store.port.Store."""
        from session_memory.store.sqlite import forget, marks

        gone = marks.marks_of_facts(self._db, self.keys, words)
        if numbers := gone.under(self.fingerprint_key).events:
            with self._marking(gone), transaction(self._db):
                forget.bury(self._db, set(numbers))

    @contextlib.contextmanager
    def _marking(self, gone: Marks) -> Generator[None]:
        """Put marks into the file before anything is dropped, so that they outlive the database.

        What is cut off in between is finished by the next sweep: it finds marks that are new to it.
        """
        was_current = is_current(self._db, self._directory)
        noted = add_marks(self._directory, gone, self.keys)
        yield
        if was_current:
            note_current(self._db, noted.checksum)

    def find_text(self, text: str, *, ignore_case: bool = False) -> list[TextHit]:
        """See store.port.Store."""
        from session_memory.store.sqlite import find_text

        needle = find_text.Needle(text, ignore_case=ignore_case)
        return find_text.find_text(self._db, self.segments, needle)

    def traces(self, text: str, *, ignore_case: bool = False) -> list[str]:
        """See store.port.Store."""
        from session_memory.store.sqlite import find_text

        needle = find_text.Needle(text, ignore_case=ignore_case)
        return list(find_text.traces(self._db, self.segments, self._directory, needle))

    def rewrite(self, session_id: int, edit: Callable[[SessionEvent], SessionEvent | None]) -> int:
        """See store.port.Store."""
        from session_memory.store.sqlite import rewrite

        done = rewrite.rewrite_session(self._db, self.segments, session_id, edit)
        return done.changed + done.dropped

    def holding_words(self, words: Callable[[bytes], bytes]) -> set[int]:
        """See store.port.Store."""
        from session_memory.store.sqlite import rewrite

        return {document.session_id for document in rewrite.changed_documents(self._db, words)}

    def replace_words(self, words: Callable[[bytes], bytes]) -> set[int]:
        """See store.port.Store."""
        from session_memory.store.sqlite import rewrite

        return rewrite.replace_words(self._db, self.segments, words)

    def last_session(self) -> int:
        """See store.port.Store."""
        return int(value(self._db, "SELECT max(id) FROM session") or 0)

    def rescan_mark(self) -> RescanMark | None:
        """See store.port.Store."""
        noted = value(self._db, "SELECT value FROM meta WHERE name = 'rescan'")
        return msgspec.json.decode(noted, type=RescanMark) if noted else None

    def mark_rescan(self, mark: RescanMark) -> None:
        """See store.port.Store."""
        noted = msgspec.json.encode(mark)
        with transaction(self._db):
            self._db.execute("INSERT OR REPLACE INTO meta VALUES ('rescan', ?)", (noted,))

    def erase_traces(self) -> None:
        """See store.port.Store."""
        from session_memory.store.sqlite import forget

        forget.erase_traces(self._db, self.segments)
