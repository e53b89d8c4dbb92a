"""How an event's number holds its session and its place in the session."""

from __future__ import annotations

from session_memory.regex_cache import compiled

SEQ_BITS = 24
SEQ_MASK = (1 << SEQ_BITS) - 1
_NAME = compiled(r"(\d{1,12}):(\d{1,8})")
_NUMBER = compiled(r"\d{8,18}")


def event_id(session_id: int, seq: int) -> int:
    """The number of an event."""
    return session_id << SEQ_BITS | seq


def split(event: int) -> tuple[int, int]:
    """(session id, seq)."""
    return event >> SEQ_BITS, event & SEQ_MASK


def event_name(event: int) -> str:
    """An event as commands print it: the number of its session, and its place there."""
    return "{}:{}".format(*split(event))


def named_event(text: str) -> int | None:
    """The event that `42:17` or its own number names; None for what names no event."""
    if match := _NAME.fullmatch(text):
        session, seq = int(match[1]), int(match[2])
        return event_id(session, seq) if seq <= SEQ_MASK else None
    if _NUMBER.fullmatch(text) and int(text) > SEQ_MASK:  # no store has so many sessions
        return int(text)
    return None
