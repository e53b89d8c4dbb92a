"""Intervals as people write them, as far as every system's scheduler can keep them."""

from __future__ import annotations

from session_memory.regex_cache import compiled

_EVERY = compiled(r"(\d{1,4}) ?(m|min|minutes?|h|hours?|d|days?)")
_DAY = 1440


def parse_interval(text: str) -> int | None:
    """Minutes of an interval such as 30m, 1h or 1d; None where it is none that can be kept.

    Crontab knows minutes and hours, no spans: an interval must divide an hour or a day.
    """
    match = _EVERY.fullmatch(text.strip())
    if match is None:
        return None
    minutes = int(match[1]) * {"m": 1, "h": 60, "d": _DAY}[match[2][0]]
    if not 5 <= minutes <= _DAY:
        return None
    divides = 60 % minutes == 0 if minutes < 60 else minutes % 60 == 0 and _DAY % minutes == 0
    return minutes if divides else None
