"""Which content was flushed last: the same again within a minute is a hook that fired twice.

Session and content together are what is recognised. By session alone the end of a session right
after a compaction would be dropped, and with it what was said in between.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import cast

import msgspec

from session_memory.journal.files import Warn, load_json_with_recovery, save_json
from session_memory.journal.paths import Place

WINDOW_S = 60
KEPT = 64


class Flushed(msgspec.Struct, frozen=True):
    """One flush: of which session, of what, when (Unix seconds), and up to what was said when."""

    session_id: str
    content: str
    timestamp: float
    upto: int | None = None


def read_recent(place: Place, now_ms: int, warn: Warn) -> list[Flushed]:
    """The latest flushes, newest first; a damaged file is set aside and forgotten."""
    rows: object = load_json_with_recovery(place.flushed, {}, now_ms, warn).get("recent")
    found: list[Flushed] = []
    for row in cast("list[object]", rows) if isinstance(rows, list) else []:
        try:
            found.append(msgspec.convert(row, Flushed))
        except msgspec.ValidationError:
            continue
    return found


def is_repeat(recent: Iterable[Flushed], session: str, content: str, now_ms: int) -> bool:
    """Whether this very content of this session was flushed less than a minute ago."""
    return any(
        one.session_id == session
        and one.content == content
        and 0 <= now_ms / 1000 - one.timestamp < WINDOW_S
        for one in recent
    )


def covered_until(recent: Iterable[Flushed], session: str) -> int | None:
    """Up to when what the session said has been flushed."""
    times = [one.upto for one in recent if one.session_id == session and one.upto is not None]
    return max(times, default=None)


def remember(place: Place, flushed: Flushed, recent: Iterable[Flushed]) -> None:
    """Note a flush; the last one also stands at the top, where others look for it."""
    others = [
        one
        for one in recent
        if (one.session_id, one.content) != (flushed.session_id, flushed.content)
    ]
    rows = [flushed, *others][:KEPT]
    last = {"session_id": flushed.session_id, "timestamp": flushed.timestamp}
    save_json(place.flushed, {**last, "recent": msgspec.to_builtins(rows)})
