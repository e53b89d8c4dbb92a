"""The table of measured effects: one row for each version of a pattern and method."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from session_memory.core.loop.effects import Effect
from session_memory.store.sqlite.connection import Database, rows, transaction


class SqliteEffects:
    """See store.effects.Effects."""

    def __init__(self, connection: Database) -> None:
        self._db = connection

    def save(self, effects: Iterable[Effect]) -> None:
        """Replace what was known of the same versions by the same methods."""
        with transaction(self._db):
            self._db.executemany(
                "INSERT OR REPLACE INTO effect VALUES (?, ?, ?, ?, ?, ?)",
                [
                    (
                        *(one.pattern_id, one.version, one.method, one.verdict, one.measured_at),
                        msgspec.json.encode(one).decode(),
                    )
                    for one in effects
                ],
            )

    def all(self) -> list[Effect]:
        """Everything measured, by pattern, version and method."""
        found = rows(self._db, "SELECT body FROM effect ORDER BY pattern_id, version, method")
        return [msgspec.json.decode(row[0], type=Effect) for row in found]
