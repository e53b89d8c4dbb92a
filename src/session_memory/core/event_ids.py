"""How an event's number holds its session and its place in the session."""

from __future__ import annotations

SEQ_BITS = 24
SEQ_MASK = (1 << SEQ_BITS) - 1


def event_id(session_id: int, seq: int) -> int:
    """The number of an event."""
    return session_id << SEQ_BITS | seq


def split(event: int) -> tuple[int, int]:
    """(session id, seq)."""
    return event >> SEQ_BITS, event & SEQ_MASK
