"""The parts of a store that one feature each asks for, loaded when it does.

An unchanged sweep asks for none of them, and loading them all took as long as looking at the logs.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from session_memory.store.damage import DATABASE
from session_memory.store.sqlite.connection import Database

if TYPE_CHECKING:
    from session_memory.store.sqlite.closures import SqliteClosures, SqliteSyncs
    from session_memory.store.sqlite.effects import SqliteEffects
    from session_memory.store.sqlite.exchange import SqliteExchange
    from session_memory.store.sqlite.jobs import SqliteJobs
    from session_memory.store.sqlite.live import SqliteLive
    from session_memory.store.sqlite.memories import SqliteMemories
    from session_memory.store.sqlite.patterns import SqlitePatterns
    from session_memory.store.sqlite.scopes import SqliteScopes
    from session_memory.store.sqlite.spend import SqliteSpend


Face = TypeVar("Face")


class Faces:
    """See store.port.Store and the protocols beside it."""

    _db: Database
    _directory: str
    _made: dict[object, Any]

    def _once(self, make: Callable[[Database], Face], name: object = None) -> Face:
        """What `make` makes, the same one every time."""
        made: Any = self._made.get(name or make)
        if made is None:
            made = self._made[name or make] = make(self._db)
        return made

    @property
    def jobs(self) -> SqliteJobs:
        """Background work."""
        from session_memory.store.sqlite.jobs import SqliteJobs

        return self._once(SqliteJobs)

    @property
    def live(self) -> SqliteLive:
        """What hooks told."""
        from session_memory.store.sqlite.live import SqliteLive

        return self._once(SqliteLive)

    @property
    def effects(self) -> SqliteEffects:
        """What measuring found."""
        from session_memory.store.sqlite.effects import SqliteEffects

        return self._once(SqliteEffects)

    @property
    def exchange(self) -> SqliteExchange:
        """What another store needs to take sessions over."""
        from session_memory.store.sqlite.exchange import SqliteExchange

        return self._once(SqliteExchange)

    @property
    def scopes(self) -> SqliteScopes:
        """Who worked where, and what was said."""
        from session_memory.store.sqlite.scopes import SqliteScopes

        return self._once(SqliteScopes)

    @property
    def closures(self) -> SqliteClosures:
        """Whether work called done was done."""
        from session_memory.store.sqlite.closures import SqliteClosures

        return self._once(SqliteClosures)

    @property
    def syncs(self) -> SqliteSyncs:
        """Files a project's pack was written into."""
        from session_memory.store.sqlite.closures import SqliteSyncs

        return self._once(SqliteSyncs)

    @property
    def memories(self) -> SqliteMemories:
        """What sessions left for their project."""
        from session_memory.store.sqlite.memories import SqliteMemories

        return self._once(SqliteMemories)

    @property
    def patterns(self) -> SqlitePatterns:
        """What recurs, and what was decided about it."""
        from session_memory.store.sqlite.patterns import SqlitePatterns

        return self._once(SqlitePatterns)

    @property
    def spend(self) -> SqliteSpend:
        """The ledger of model calls."""
        from session_memory.store.sqlite.spend import SqliteSpend

        path = os.path.join(self._directory, DATABASE)
        return self._once(lambda db: SqliteSpend(db, path), SqliteSpend)
