"""What a new session gets from its project's journal: the latest log, open work, knowledge index.

Rows are given whole or not at all, and everything is fenced, since it is text of earlier sessions.
Only a project's own journal is given, never a shared vault.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from pathlib import Path

from session_memory.clock import local_date
from session_memory.core.loop.injection import Section
from session_memory.core.text.own_text import BEGIN, END
from session_memory.core.text.safe_text import fence, one_line
from session_memory.core.work_state import derive_state
from session_memory.journal.daily import has_substance, without_maintenance
from session_memory.journal.files import read_text
from session_memory.journal.paths import JournalPaths, journal_paths
from session_memory.store.port import ObservationQuery, SessionReader

LOG_LINES = 30
LOG_CHARS = 3_000
INDEX_CHARS = 2_500
WORK_CHARS = 1_500
RECENT_DAYS = 14
HUBS = 15
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
_LINK = re.compile(r"\[\[([^\]|#]+)")


def sections_for(
    data: Path, root: str, now: int, open_work: Sequence[str] = ()
) -> tuple[Section, ...]:
    """The journal's sections for sessions of a project root, most useful first."""
    journal = journal_paths(data, root)
    texts = (
        ("journal-log", _latest_log(journal, now)),
        ("journal-work", _open_work(open_work)),
        ("journal-index", _knowledge_index(journal, now)),
    )
    return tuple(Section(name, text) for name, text in texts if text)


def open_items(store: SessionReader, project: str) -> tuple[str, ...]:
    """Blockers and open items of a project, newest first."""
    state = derive_state(store.observations(ObservationQuery(project=project)))
    blocked = (f"blocked: {blocker.text}" for blocker in state.blockers)
    return tuple(dict.fromkeys((*blocked, *(item.text for item in state.pending))))


def _latest_log(journal: JournalPaths, now: int) -> str:
    """The end of today's log, or else of yesterday's; older ones say little about what is next."""
    for date in (local_date(now), _days_before(now, 1)):
        text = without_maintenance(read_text(journal.day(date)) or "")
        if has_substance(text):
            lines = [line for line in text.splitlines() if not line.startswith((BEGIN, END))]
            tail = _last_that_fit("\n".join(lines).rstrip().splitlines()[-LOG_LINES:], LOG_CHARS)
            return _fenced(f"## Journal of {date} (its end)", tail)
    return ""


def _days_before(now: int, days: int) -> str:
    """The local date some days ago."""
    moment = datetime.fromtimestamp(now / 1000) - timedelta(days=days)
    return local_date(int(moment.timestamp() * 1000))


def _open_work(items: Sequence[str]) -> str:
    rows = [f"- {one_line(item)}" for item in items]
    return _fenced("## Open work", _first_that_fit(rows, WORK_CHARS))


def _knowledge_index(journal: JournalPaths, now: int) -> str:
    """Rows of recently updated articles, then of the most linked ones."""
    text = read_text(journal.knowledge / "index.md") or ""
    rows = [line for line in text.splitlines() if line.startswith("|") and "[[" in line]
    since = _days_before(now, RECENT_DAYS)
    recent = [row for row in reversed(rows) if max(_DATE.findall(row), default="") >= since]
    links = _link_counts(journal) if len(recent) < len(rows) else Counter[str]()
    others = [row for row in rows if row not in recent]
    hubs = sorted(others, key=lambda row: -links[_target(row)])[:HUBS]
    shown = _first_that_fit(dict.fromkeys((*recent, *hubs)), INDEX_CHARS)
    more = len(rows) - len(shown)
    return _fenced(
        "## Knowledge index", [*shown, *([f"({more} more rows)"] if more and shown else [])]
    )


def _link_counts(journal: JournalPaths) -> Counter[str]:
    """How many articles link to each article."""
    counts = Counter[str]()
    for path in sorted(journal.knowledge.rglob("*.md")):
        if path.name not in ("index.md", "log.md"):
            counts.update(set(_LINK.findall(read_text(path) or "")))
    return counts


def _target(row: str) -> str:
    match = _LINK.search(row)
    return match[1] if match else ""


def _first_that_fit(rows: Iterable[str], limit: int) -> list[str]:
    fitting: list[str] = []
    for row in rows:
        limit -= len(row) + 1
        if limit < 0:
            break
        fitting.append(row)
    return fitting


def _last_that_fit(rows: Sequence[str], limit: int) -> list[str]:
    return _first_that_fit(reversed(rows), limit)[::-1]


def _fenced(title: str, rows: Sequence[str]) -> str:
    """Rows in a fence that they cannot forge. Its marker is a hash of the rows, so that equal
    content gives an equal page, which need not be written again."""
    if not any(row.strip() for row in rows):
        return ""
    text = "\n".join(rows)
    marker = hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()[:16]
    return f"{title}\n{fence(text, marker, 'journal')}"
