"""Sizes and intervals as people write them."""

from __future__ import annotations

from session_memory.regex_cache import compiled

UNITS = {
    "": 1, "b": 1,
    "kb": 1000, "mb": 1000**2, "gb": 1000**3, "tb": 1000**4,
    "kib": 1024, "mib": 1024**2, "gib": 1024**3, "tib": 1024**4,
}  # fmt: skip
LARGEST = 2**63 - 1  # what SQLite can hold
_EVERY = compiled(r"(\d{1,4}) ?(m|min|minutes?|h|hours?|d|days?)")
_DAY = 1440


def parse_size(text: str) -> int | None:
    """Bytes of a size such as "4 GiB"; None where it is no size above zero."""
    number = text.strip().rstrip("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
    unit = UNITS.get(text.strip()[len(number) :].lower())
    try:
        size = float(number) if "." in number else int(number)
        bytes_ = int(size * unit) if unit else 0
    except (ValueError, OverflowError):
        return None
    return bytes_ if 0 < bytes_ <= LARGEST else None


def parse_interval(text: str) -> int | None:
    """Minutes of an interval such as 30m, 1h or 1d; None where no scheduler could keep it.

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
