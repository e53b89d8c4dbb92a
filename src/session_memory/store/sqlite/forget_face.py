"""The part of the store's face that forgets, finds and rewrites; its topics load when asked."""

from __future__ import annotations

from collections.abc import Callable

from session_memory.core.cursor import Stamp
from session_memory.core.fingerprint import path_name
from session_memory.core.schema import SessionEvent
from session_memory.store.segments import DirectorySegments
from session_memory.store.sqlite.connection import Database
from session_memory.store.values import TextHit


class ForgetFace:
    """Mixed into SqliteStore; see store.port.Store."""

    _db: Database
    _directory: str
    segments: DirectorySegments
    fingerprint_key: bytes

    def is_forgotten_source(self, path: str, stamp: Stamp) -> bool:
        """See store.port.Store."""
        found = self._db.execute(
            "SELECT device, inode, size, mtime_ns, ctime_ns FROM forgotten_source WHERE path = ?",
            (path_name(self.fingerprint_key, path),),
        ).fetchone()
        return found == stamp

    def forget_sessions(self, sessions: set[int]) -> set[int]:
        """See store.port.Store."""
        from session_memory.store.sqlite import forgetting

        whole = forgetting.with_subagents(self._db, sessions)
        return forgetting.forget_sessions(self._db, self.segments, self.fingerprint_key, whole)

    def with_subagents(self, sessions: set[int]) -> set[int]:
        """See store.port.Store."""
        from session_memory.store.sqlite import forgetting

        return forgetting.with_subagents(self._db, sessions)

    def forget_events(self, session_id: int, fingerprints: set[int]) -> int:
        """See store.port.Store."""
        from session_memory.store.sqlite import forgetting

        return forgetting.forget_events(self._db, self.segments, session_id, fingerprints)

    def find_text(self, text: str, *, ignore_case: bool = False) -> list[TextHit]:
        """See store.port.Store."""
        from session_memory.store.sqlite import finding

        needle = finding.Needle(text, ignore_case=ignore_case)
        return finding.find_text(self._db, self.segments, needle)

    def traces(self, text: str) -> list[str]:
        """See store.port.Store."""
        from session_memory.store.sqlite import finding

        needle = finding.Needle(text)
        return list(finding.traces(self._db, self.segments, self._directory, needle))

    def rewrite(self, session_id: int, edit: Callable[[SessionEvent], SessionEvent | None]) -> int:
        """See store.port.Store."""
        from session_memory.store.sqlite import rewriting

        done = rewriting.rewrite_session(self._db, self.segments, session_id, edit)
        return done.changed + done.dropped

    def replace_words(self, words: Callable[[bytes], bytes]) -> set[int]:
        """See store.port.Store."""
        from session_memory.store.sqlite import rewriting

        return rewriting.replace_words(self._db, words)

    def erase_traces(self) -> None:
        """See store.port.Store."""
        from session_memory.store.sqlite import forgetting

        forgetting.erase_traces(self._db, self.segments)
