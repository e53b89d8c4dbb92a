"""Several statements of what one API response cost, reduced to one in any order."""

from __future__ import annotations

from session_memory.core.schema import Usage


def fuller(one: Usage, other: Usage) -> Usage:
    """The statement that counts: the one with more tokens, among equals the earliest.

    While an answer streams, agents write placeholders with too few tokens, so the fullest is final.
    """
    first, second = _size(one), _size(other)
    if first != second:
        return one if first > second else other
    if one.at is None or (other.at is not None and other.at < one.at):
        return other
    return one


def _size(usage: Usage) -> tuple[int, int, int, int, int, str]:
    return (
        usage.output,
        usage.input,
        usage.cache_read,
        usage.cache_write_5m,
        usage.cache_write_1h,
        usage.model,
    )
