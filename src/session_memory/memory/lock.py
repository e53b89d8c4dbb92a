"""Who consolidates a place's memory: one at a time, for as long as it says that it is at work."""

from __future__ import annotations

from session_memory.memory.layout import normalised
from session_memory.store.memories import Memories

CONSOLIDATION_LOCK_LEASE_SECONDS = 600
"""How long an owner may be silent before the place is anybody's."""
BEAT_SECONDS = 60.0
"""How often a run says that it is at work."""


def acquire(
    memories: Memories,
    cwd: str,
    owner: str,
    now_ms: int,
    lease_s: int = CONSOLIDATION_LOCK_LEASE_SECONDS,
) -> bool:
    """Lock a place, by whichever of its names; a lease below 0 counts as none."""
    return memories.acquire(normalised(cwd), owner, now_ms, max(lease_s, 0) * 1000)


def renew(memories: Memories, cwd: str, owner: str, now_ms: int) -> bool:
    """Keep a place; False when it is somebody else's by now."""
    return memories.renew(normalised(cwd), owner, now_ms)


def release(memories: Memories, cwd: str, owner: str) -> bool:
    """Give a place back; one that was taken over stays with its new owner."""
    return memories.release(normalised(cwd), owner)


def manual_owner(token: str) -> str:
    """The owner of a run that no session asked for."""
    return f"manual:{token}"
