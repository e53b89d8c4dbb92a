"""Sizes as people write them."""

from __future__ import annotations

UNITS = {
    "": 1, "b": 1,
    "kb": 1000, "mb": 1000**2, "gb": 1000**3, "tb": 1000**4,
    "kib": 1024, "mib": 1024**2, "gib": 1024**3, "tib": 1024**4,
}  # fmt: skip
LARGEST = 2**63 - 1  # what SQLite can hold


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
