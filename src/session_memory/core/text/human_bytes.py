"""A number of bytes, as a person reads it."""

from __future__ import annotations


def human_bytes(size: int | None) -> str:
    """A size in binary units; None is a cap that is not there."""
    if size is None:
        return "unlimited"
    if abs(size) < 1024:
        return f"{size} B"
    value = float(size)
    for unit in ("KiB", "MiB", "GiB", "TiB"):
        value /= 1024
        if abs(value) < 1023.95:  # what would round to 1024.0 belongs to the next unit
            return f"{value:.1f} {unit}"
    return f"{value / 1024:.1f} PiB"
