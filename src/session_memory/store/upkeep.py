"""What keeps a store within its budget and whole: eviction, checks, repair, backup."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Protocol

from session_memory.core.retention.plan import Eviction, RawSession, StoreUsage
from session_memory.store.values import Finding, Repaired, StoreInfo

if TYPE_CHECKING:  # imported lazily by the features that use it, not with every store
    from session_memory.store.backups import Progress


class RetentionStore(Protocol):
    """Raw text under a byte budget."""

    def raw_usage(self) -> StoreUsage:
        """Bytes that count against the caps: segments and the estimate for rows and index."""
        ...

    def oldest_analyzed(self) -> int | None:
        """When the oldest raw text of an analyzed session was captured."""
        ...

    def raw_sessions(self) -> list[RawSession]:
        """Sessions whose raw text is here, with their share of the usage."""
        ...

    def evict(self, evictions: list[Eviction], now_ms: int) -> int:
        """Drop raw text; returns bytes of segment files given back."""
        ...

    def crowded(self, limit: int) -> list[int]:
        """Sessions with more segments than `limit`."""
        ...

    def compact(self, session_id: int, at_least: int = 2) -> int:
        """Join a session's segments, if there are so many; returns how many were removed."""
        ...

    def sweep_orphans(self) -> int:
        """Remove segment files that no row points at; returns how many.

        Also finishes an `erase_traces` that was cut off.
        """
        ...


class MaintenanceStore(Protocol):
    """Checking, repairing and copying a whole store; see also `store.maintenance`."""

    def info(self) -> StoreInfo:
        """Counts and sizes."""
        ...

    def fsck(self, progress: Progress | None = None) -> list[Finding]:
        """Check every row, segment and index entry."""
        ...

    def quick_check(self) -> str:
        """A quick check of the database: 'ok', or what is wrong."""
        ...

    def repair(self, layer: str, *, dry_run: bool) -> list[Repaired]:
        """Repair one layer (orphans, segments, counts, usage, index, checksums), or say how."""
        ...

    def dump(self) -> Iterator[dict[str, Any]]:
        """The canonical content: equal for equal logs, in whatever order they were read."""
        ...

    def backup(
        self, target: str, progress: Progress | None = None, *, replace: bool = False
    ) -> int:
        """Copy everything, consistent and checked, to a new directory; returns bytes written.

        With `replace`, an earlier backup there is replaced once the new one is complete.
        """
        ...
