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
                        *(
                            effect.pattern_id,
                            effect.version,
                            effect.method,
                            effect.verdict,
                            effect.measured_at,
                        ),
                        msgspec.json.encode(effect).decode(),
                    )
                    for effect in effects
                ],
            )

    def all(self) -> list[Effect]:
        """Everything measured, by pattern, version and method."""
        selected = rows(self._db, "SELECT body FROM effect ORDER BY pattern_id, version, method")
        return [msgspec.json.decode(row[0], type=Effect) for row in selected]
