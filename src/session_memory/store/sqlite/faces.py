"""The parts of a store that one feature each asks for, loaded when it does.

An unchanged sweep asks for none of them, and loading them all took as long as looking at the logs.
"""

from __future__ import annotations

import os
from functools import cached_property
from typing import TYPE_CHECKING

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

DATABASE = "store.db"


class Faces:
    """See store.port.Store and the protocols beside it."""

    _db: Database
    _directory: str

    @cached_property
    def jobs(self) -> SqliteJobs:
        """Background work."""
        from session_memory.store.sqlite.jobs import SqliteJobs

        return SqliteJobs(self._db)

    @cached_property
    def live(self) -> SqliteLive:
        """What hooks told."""
        from session_memory.store.sqlite.live import SqliteLive

        return SqliteLive(self._db)

    @cached_property
    def effects(self) -> SqliteEffects:
        """What measuring found."""
        from session_memory.store.sqlite.effects import SqliteEffects

        return SqliteEffects(self._db)

    @cached_property
    def exchange(self) -> SqliteExchange:
        """What another store needs to take sessions over."""
        from session_memory.store.sqlite.exchange import SqliteExchange

        return SqliteExchange(self._db)

    @cached_property
    def scopes(self) -> SqliteScopes:
        """Who worked where, and what was said."""
        from session_memory.store.sqlite.scopes import SqliteScopes

        return SqliteScopes(self._db)

    @cached_property
    def closures(self) -> SqliteClosures:
        """Whether work called done was done."""
        from session_memory.store.sqlite.closures import SqliteClosures

        return SqliteClosures(self._db)

    @cached_property
    def syncs(self) -> SqliteSyncs:
        """Files a project's pack was written into."""
        from session_memory.store.sqlite.closures import SqliteSyncs

        return SqliteSyncs(self._db)

    @cached_property
    def memories(self) -> SqliteMemories:
        """What sessions left for their project."""
        from session_memory.store.sqlite.memories import SqliteMemories

        return SqliteMemories(self._db)

    @cached_property
    def patterns(self) -> SqlitePatterns:
        """What recurs, and what was decided about it."""
        from session_memory.store.sqlite.patterns import SqlitePatterns

        return SqlitePatterns(self._db)

    @cached_property
    def spend(self) -> SqliteSpend:
        """The ledger of model calls."""
        from session_memory.store.sqlite.spend import SqliteSpend

        return SqliteSpend(self._db, os.path.join(self._directory, DATABASE))
