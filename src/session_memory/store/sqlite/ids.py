"""The range of numbers that events of one session have."""

from __future__ import annotations

from session_memory.core.event_ids import SEQ_BITS, SEQ_MASK, split

__all__ = ("SEQ_BITS", "SEQ_MASK", "event_range", "split")


def event_range(session_id: int) -> tuple[int, int]:
    """First and last id an event of this session can have."""
    return session_id << SEQ_BITS, (session_id << SEQ_BITS) | SEQ_MASK
