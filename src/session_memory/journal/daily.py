"""The log of a day: header, then entries, each with the name of the session it came from.

The name stands in a comment, so that `forget` finds the entry and a flush that was cut off finds
out that it had already written it. The comments are those of our own text, which is no evidence.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Collection
from datetime import datetime
from pathlib import Path
from urllib.parse import quote, unquote

import msgspec

from session_memory.core.text.own_text import BEGIN, END
from session_memory.core.text.safe_text import stripped
from session_memory.journal.files import locked_append, read_text
from session_memory.journal.paths import Place

SESSION = "Session"
MAINTENANCE = "Memory Flush"
NOTHING = "FLUSH_OK - Nothing worth saving from this session"

_ENTRY = re.compile(
    r"^### [^\n]*\n\n"
    + re.escape(BEGIN)
    + r" flush session=(?P<session>[^\s>]*) entry=(?P<key>[0-9a-f]+) -->\n"
    + r"(?P<content>.*?)\n"
    + re.escape(END)
    + r"\n(?:\n|\Z)",
    re.MULTILINE | re.DOTALL,
)


class Entry(msgspec.Struct, frozen=True):
    """One entry on its way into a log; `key` is the same whenever the same flush is done again."""

    session: str
    key: str
    content: str
    section: str = SESSION


def local_date(now_ms: int) -> str:
    """The user's own date at a moment."""
    return datetime.fromtimestamp(now_ms / 1000).strftime("%Y-%m-%d")


def header(date: str) -> str:
    """How a day begins."""
    return f"# Daily Log: {date}\n\n## Sessions\n\n## Memory Maintenance\n\n"


def render_entry(entry: Entry, now_ms: int) -> str:
    """An entry as the log shows it; nothing in its content can end it or pose as another."""
    clock = datetime.fromtimestamp(now_ms / 1000).strftime("%H:%M")
    content = stripped(entry.content).strip().replace("<!--", "&lt;!--")
    mark = f"{BEGIN} flush session={quote(entry.session, safe='')} entry={entry.key} -->"
    return f"### {entry.section} ({clock})\n\n{mark}\n{content}\n{END}\n\n"


def append_entry(place: Place, entry: Entry, now_ms: int) -> bool:
    """Append to the day's log; False where the entry is there already.

    Whether the day has its header is looked at inside the lock: between two first entries of a day
    the later one would otherwise erase the earlier.
    """
    date = local_date(now_ms)

    def added(text: str) -> str:
        if entry.key in keys(text):
            return ""
        start = "" if text else header(date)
        gap = "" if not text or text.endswith("\n\n") else "\n" if text.endswith("\n") else "\n\n"
        return start + gap + render_entry(entry, now_ms)

    return locked_append(place.day(date), place.lock("daily"), added)


def keys(text: str) -> set[str]:
    """The keys of a log's whole entries."""
    return {found["key"] for found in _ENTRY.finditer(text)}


def find_entry(place: Place, key: str) -> Entry | None:
    """The entry of that key on any day: a flush cut off before midnight may be repeated after."""
    for path in days(place):
        text = read_text(path) or ""
        if key in text:
            return next((entry for entry in entries(text) if entry.key == key), None)
    return None


def days(place: Place) -> list[Path]:
    """The logs there are, newest first."""
    found = place.daily.glob("????-??-??.md")
    return sorted((path for path in found if path.is_file()), reverse=True)


def sessions_in(text: str) -> set[str]:
    """Names of the sessions that a log has entries of."""
    return {unquote(found["session"]) for found in _ENTRY.finditer(text)}


def without_sessions(text: str, gone: Collection[str]) -> str:
    """The log without the entries of those sessions; what stands between entries stays."""
    return _ENTRY.sub(lambda found: "" if unquote(found["session"]) in gone else found[0], text)


def content_spans(text: str) -> list[tuple[int, int]]:
    """Where the contents of our own entries stand, as (start, end); the rest may be the user's."""
    return [found.span("content") for found in _ENTRY.finditer(text)]


def entries(text: str) -> list[Entry]:
    """The entries of a log, oldest first."""
    return [
        Entry(
            unquote(found["session"]),
            found["key"],
            found["content"],
            found[0].removeprefix("### ").partition(" (")[0],
        )
        for found in _ENTRY.finditer(text)
    ]


def entry_ends(data: bytes) -> list[int]:
    """Offsets in a log's bytes at which an entry is over."""
    text = data.decode("utf-8", "surrogateescape")
    ends: list[int] = []
    here = offset = 0
    for found in _ENTRY.finditer(text):
        offset += len(text[here : found.end()].encode("utf-8", "surrogateescape"))
        here = found.end()
        ends.append(offset)
    return ends


def without_last_maintenance(text: str) -> str | None:
    """The log without its last entry, if that only says that there was nothing; else None."""
    last = next(iter(deque(_ENTRY.finditer(text), maxlen=1)), None)
    if last is None or text[last.end() :].strip() or last["content"] != NOTHING:
        return None
    return text[: last.start()]


def has_substance(text: str) -> bool:
    """Whether a log says anything besides its header and that there was nothing."""
    left = _ENTRY.sub(lambda found: "" if found["content"] == NOTHING else found[0], text)
    lines = [line for line in left.splitlines() if line.strip()]
    return any(not line.startswith(("# Daily Log", "## Sessions", "## Memory")) for line in lines)
