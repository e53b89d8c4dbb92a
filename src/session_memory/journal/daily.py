"""The log of a day: a header, then entries, each with the session it came from.

Session and key are in a comment, so that `forget` finds the entry, and an interrupted flush notices
that it had written it already. The comment also marks the entry as our own text, which is never
evidence.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Collection
from datetime import datetime
from pathlib import Path
from urllib.parse import quote, unquote

import msgspec

from session_memory.clock import local_date
from session_memory.core.text.own_text import BEGIN, END, NOTHING_SAVED
from session_memory.core.text.safe_text import stripped
from session_memory.journal.files import locked_append, read_text
from session_memory.journal.paths import JournalPaths

SESSION = "Session"
MAINTENANCE = "Memory Flush"
NOTHING = NOTHING_SAVED

_ENTRY = re.compile(
    r"^### [^\n]*\n\n"
    + re.escape(BEGIN)
    + r" flush session=(?P<session>[^\s>]*) entry=(?P<key>[0-9a-f]+) -->\n"
    + r"(?P<content>.*?)\n"
    + re.escape(END)
    + r"(?:\n\n|\n?\Z)",  # a log that was redacted by earlier versions lacks its last line break
    re.MULTILINE | re.DOTALL,
)


class Entry(msgspec.Struct, frozen=True):
    """One entry of a log; a repeated flush gives it the same `key`."""

    session: str
    key: str
    content: str
    section: str = SESSION


def header(date: str) -> str:
    """The first lines of a log."""
    return f"# Daily Log: {date}\n\n## Sessions\n\n## Memory Maintenance\n\n"


def render_entry(entry: Entry, now_ms: int) -> str:
    """An entry as text; nothing in its content can end it or look like another entry."""
    clock = datetime.fromtimestamp(now_ms / 1000).strftime("%H:%M")
    content = stripped(entry.content).strip().replace("<!--", "&lt;!--")
    begin = f"{BEGIN} flush session={quote(entry.session, safe='')} entry={entry.key} -->"
    return f"### {entry.section} ({clock})\n\n{begin}\n{content}\n{END}\n\n"


def append_entry(journal: JournalPaths, entry: Entry, now_ms: int) -> bool:
    """Append to the day's log; False if the entry is there already.

    Whether a header is needed is decided inside the lock; otherwise two first entries of a day
    could overwrite each other.
    """
    date = local_date(now_ms)

    def addition(text: str) -> str:
        if entry.key in entry_keys(text):
            return ""
        start = "" if text else header(date)
        gap = "" if not text or text.endswith("\n\n") else "\n" if text.endswith("\n") else "\n\n"
        return start + gap + render_entry(entry, now_ms)

    return locked_append(journal.day(date), journal.lock("daily"), addition)


def entry_keys(text: str) -> set[str]:
    """The keys of a log's complete entries."""
    return {match["key"] for match in _ENTRY.finditer(text)}


def find_entry(journal: JournalPaths, key: str) -> Entry | None:
    """The entry with a key, on any day: an interrupted flush may be repeated after midnight."""
    for path in days(journal):
        text = read_text(path) or ""
        if key in text:
            return next((entry for entry in entries(text) if entry.key == key), None)
    return None


def days(journal: JournalPaths) -> list[Path]:
    """All daily logs, newest first."""
    paths = journal.daily.glob("????-??-??.md")
    return sorted((path for path in paths if path.is_file()), reverse=True)


def sessions_in(text: str) -> set[str]:
    """The sessions that a log has entries of."""
    return {unquote(match["session"]) for match in _ENTRY.finditer(text)}


def without_sessions(text: str, sessions: Collection[str]) -> str:
    """The log without the entries of some sessions; text between entries stays."""
    return _ENTRY.sub(lambda match: "" if unquote(match["session"]) in sessions else match[0], text)


def content_spans(text: str) -> list[tuple[int, int]]:
    """Start and end of the content of each entry; the rest may be the user's own text."""
    return [match.span("content") for match in _ENTRY.finditer(text)]


def entries(text: str) -> list[Entry]:
    """The entries of a log, oldest first."""
    return [
        Entry(
            unquote(match["session"]),
            match["key"],
            match["content"],
            match[0].removeprefix("### ").partition(" (")[0],
        )
        for match in _ENTRY.finditer(text)
    ]


def entry_ends(data: bytes) -> list[int]:
    """The byte offsets at which entries end."""
    text = data.decode("utf-8", "surrogateescape")
    ends: list[int] = []
    position = offset = 0
    for match in _ENTRY.finditer(text):
        offset += len(text[position : match.end()].encode("utf-8", "surrogateescape"))
        position = match.end()
        ends.append(offset)
    return ends


def without_last_maintenance(text: str) -> str | None:
    """The log without its last entry if that says "nothing worth saving"; else None."""
    last = next(iter(deque(_ENTRY.finditer(text), maxlen=1)), None)
    if last is None or text[last.end() :].strip() or last["content"] != NOTHING:
        return None
    return text[: last.start()]


def without_maintenance(text: str) -> str:
    """The log without "nothing worth saving" entries, which say nothing of the project."""
    return _ENTRY.sub(lambda match: "" if match["content"] == NOTHING else match[0], text)


def has_substance(text: str) -> bool:
    """Whether a log has anything besides its header and "nothing worth saving" entries."""
    lines = [line for line in without_maintenance(text).splitlines() if line.strip()]
    return any(not line.startswith(("# Daily Log", "## Sessions", "## Memory")) for line in lines)
