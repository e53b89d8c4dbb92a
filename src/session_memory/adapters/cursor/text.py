"""What Cursor wraps around the words of its user."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone

from session_memory.adapters.emit_blocks import BlockEmitter
from session_memory.adapters.excerpt import excerpt

_TIME = re.compile(r"\s*<timestamp>([^<]{1,80})</timestamp>\s*")
_STATED = re.compile(
    r"[A-Za-z]+, ([A-Z][a-z]{2})[a-z]* (\d{1,2}), (\d{4}), (\d{1,2}):(\d\d) ([AP]M)"
    r" \(UTC(?:([+-])(\d{1,2})(?::?(\d\d))?)?\)"
)
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_OPEN, _CLOSE = "<user_query>", "</user_query>"
_REMOVED = "[REDACTED]"
_TAG = re.compile(r"<[a-z_-]{2,40}[ >]")


def stated_time(text: str) -> int | None:
    """`Sunday, Aug 2, 2026, 3:51 AM (UTC-7)` in milliseconds."""
    parts = _STATED.fullmatch(text.strip())
    if parts is None or parts[1] not in _MONTHS:
        return None
    hours, minutes = int(parts[8] or 0), int(parts[9] or 0)
    away = timedelta(hours=hours, minutes=minutes) * (-1 if parts[7] == "-" else 1)
    hour = int(parts[4]) % 12 + (12 if parts[6] == "PM" else 0)
    try:
        zone = timezone(away) if away else UTC
        month = _MONTHS.index(parts[1]) + 1
        moment = datetime(int(parts[3]), month, int(parts[2]), hour, int(parts[5]), tzinfo=zone)
        return round(moment.timestamp() * 1000)
    except (OverflowError, ValueError):
        return None


class CursorEmitter(BlockEmitter):
    """Turns messages of Cursor's agent into events."""

    def user_text(self, text: str) -> None:
        """The words of the last query in a text, without what is in front of it.

        Web pages and files stand there, up to tens of kilobytes; they are counted and not kept.
        """
        if time := _TIME.match(text):
            self.at = stated_time(time[1]) or self.at
            text = text[time.end() :]
        before, opening, query = text.rpartition(_OPEN)
        if opening:
            if before.strip():
                self.ignore("context before a prompt")
            self.prompt(query.partition(_CLOSE)[0].strip("\n"))
        elif _TAG.match(text):
            self.inject(excerpt(text), "context")
        else:
            self.prompt(text)

    def say(self, text: str) -> None:
        """An answer, without the mark of thinking that was removed."""
        super().say(text.replace(_REMOVED, "").strip())

    def think(self, text: str) -> None:
        """A thought, without the mark of what was removed of it."""
        super().think(text.replace(_REMOVED, "").strip())
