"""The one place that asks the machine what time it is."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime

Clock = Callable[[], int]
"""Returns Unix time in milliseconds; tests pass a frozen one."""


def now_ms() -> int:
    """Unix time in milliseconds."""
    return time.time_ns() // 1_000_000


def local_date(at_ms: int) -> str:
    """The user's local date at a point in time."""
    return datetime.fromtimestamp(at_ms / 1000).date().isoformat()


def iso(at_ms: int | None) -> str | None:
    """RFC 3339 in UTC with milliseconds, the form used in every output."""
    if at_ms is None:
        return None
    try:
        moment = datetime.fromtimestamp(at_ms / 1000, UTC)
    except (OverflowError, OSError, ValueError):
        return None
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
