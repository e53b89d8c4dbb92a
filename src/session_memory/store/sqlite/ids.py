"""How an event's integer holds its session and its place in order of arrival."""

from __future__ import annotations

SEQ_BITS = 24
SEQ_MASK = (1 << SEQ_BITS) - 1


def event_range(session_id: int) -> tuple[int, int]:
    """First and last id an event of this session can have."""
    return session_id << SEQ_BITS, (session_id << SEQ_BITS) | SEQ_MASK


def split(event_id: int) -> tuple[int, int]:
    """(session id, seq)."""
    return event_id >> SEQ_BITS, event_id & SEQ_MASK
