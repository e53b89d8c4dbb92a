"""What a writer asks and does where a log that was read before was cut or replaced."""

from __future__ import annotations

from session_memory.store.segments import SegmentReader
from session_memory.store.sqlite import event_copies, sources
from session_memory.store.sqlite.connection import Database
from session_memory.store.values import LostEvent


class CutWrites:
    """Part of SqliteWriter."""

    _db: Database
    _reader: SegmentReader

    def holds_beginning(self, aside: int, seen: set[int]) -> bool:
        """See store.port.Writer."""
        return event_copies.holds_beginning(self._db, aside, seen)

    def first_lost(self, aside: int) -> LostEvent | None:
        """See store.port.Writer."""
        return event_copies.first_lost(self._db, aside, self._reader)

    def keep_aside(self, aside: int) -> None:
        """See store.port.Writer."""
        event_copies.hand_back(self._db, aside, sources.cut_before(self._db, aside))
