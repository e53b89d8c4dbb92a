"""The embedded store: one SQLite file through apsw, next to a directory of segments."""

from session_memory.store.sqlite.store import SqliteStore, open_store

__all__ = ["SqliteStore", "open_store"]
