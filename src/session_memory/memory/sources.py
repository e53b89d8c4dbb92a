"""What a project's memory is made of: its traces, and the digests of their sessions."""

from __future__ import annotations

import msgspec

from session_memory.memory.known_session import MAX_SESSIONS, KnownSession, known_sessions
from session_memory.memory.line_history import digests_of
from session_memory.memory.swap import stamp_of
from session_memory.store.memories import Trace
from session_memory.store.port import MemoryStore


class Sources(msgspec.Struct, frozen=True):
    """Everything that one consolidation reads, newest first."""

    traces: list[Trace]
    newest: list[Trace]
    """Those whose files are kept, and which a model reads."""
    sessions: list[KnownSession]

    @property
    def stamp(self) -> str:
        """Identifies the newest traces."""
        return stamp_of(self.newest)

    @property
    def digests(self) -> str:
        """Identifies the digests."""
        return digests_of(self.sessions)


def read_sources(store: MemoryStore, root: str, max_traces: int) -> Sources:
    """The traces of a project root and the digests of their sessions."""
    traces = store.memories.of_root(root, max(MAX_SESSIONS, max_traces))
    return Sources(traces, traces[:max_traces], known_sessions(store, traces[:MAX_SESSIONS]))
