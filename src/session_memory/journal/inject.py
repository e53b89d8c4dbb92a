"""What a session is given of its project's journal: the latest log, open work, the knowledge index.

Rows are given whole or not at all, and everything stands in a fence: it was said in sessions, by
whomever. Only a project's own journal is given; a common vault never is.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from pathlib import Path

from session_memory.core.loop.injection import Section
from session_memory.core.text.own_text import BEGIN, END
from session_memory.core.text.safe_text import fence, one_line
from session_memory.core.work_state import derive_state
from session_memory.journal.daily import local_date
from session_memory.journal.files import read_text
from session_memory.journal.paths import Place, place_of
from session_memory.store.port import ObservationQuery, Store

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
    place = place_of(data, root)
    found = (
        ("journal-log", _latest_log(place, now)),
        ("journal-work", _work(open_work)),
        ("journal-index", _index(place, now)),
    )
    return tuple(Section(name, text) for name, text in found if text)


def open_items(store: Store, project: str) -> tuple[str, ...]:
    """What is open and in the way in a project, newest first."""
    state = derive_state(store.observations(ObservationQuery(project=project)))
    blocked = (f"blocked: {one.text}" for one in state.blockers)
    return tuple(dict.fromkeys((*blocked, *(one.text for one in state.pending))))


def _latest_log(place: Place, now: int) -> str:
    """The end of today's log, or of yesterday's: later days say little about what comes next."""
    yesterday = int((datetime.fromtimestamp(now / 1000) - timedelta(days=1)).timestamp() * 1000)
    for date in (local_date(now), local_date(yesterday)):
        text = read_text(place.day(date))
        if text is not None:
            shown = [line for line in text.splitlines() if not line.startswith((BEGIN, END))]
            tail = _last_that_fit("\n".join(shown).rstrip().splitlines()[-LOG_LINES:], LOG_CHARS)
            return _fenced(f"## Journal of {date} (its end)", tail)
    return ""


def _work(items: Sequence[str]) -> str:
    rows = [f"- {one_line(item)}" for item in items]
    return _fenced("## Open work", _first_that_fit(rows, WORK_CHARS))


def _index(place: Place, now: int) -> str:
    """Rows of articles that are new, then of those most others link to."""
    text = read_text(place.knowledge / "index.md") or ""
    rows = [line for line in text.splitlines() if line.startswith("|") and "[[" in line]
    since = local_date(
        int((datetime.fromtimestamp(now / 1000) - timedelta(days=RECENT_DAYS)).timestamp() * 1000)
    )
    recent = [row for row in reversed(rows) if max(_DATE.findall(row), default="") >= since]
    links = _links(place) if len(recent) < len(rows) else Counter[str]()
    others = [row for row in rows if row not in recent]
    hubs = sorted(others, key=lambda row: -links[_target(row)])[:HUBS]
    chosen = list(dict.fromkeys((*recent, *hubs)))
    kept = _first_that_fit(chosen, INDEX_CHARS)
    more = len(rows) - len(kept)
    return _fenced(
        "## Knowledge index", [*kept, *([f"({more} more rows)"] if more and kept else [])]
    )


def _links(place: Place) -> Counter[str]:
    """How often each article is linked to from others."""
    counts = Counter[str]()
    for path in sorted(place.knowledge.rglob("*.md")):
        if path.name not in ("index.md", "log.md"):
            counts.update(set(_LINK.findall(read_text(path) or "")))
    return counts


def _target(row: str) -> str:
    found = _LINK.search(row)
    return found[1] if found else ""


def _first_that_fit(rows: Iterable[str], limit: int) -> list[str]:
    kept: list[str] = []
    for row in rows:
        limit -= len(row) + 1
        if limit < 0:
            break
        kept.append(row)
    return kept


def _last_that_fit(rows: Sequence[str], limit: int) -> list[str]:
    return _first_that_fit(reversed(rows), limit)[::-1]


def _fenced(title: str, rows: Sequence[str]) -> str:
    """Rows between lines they cannot forge; the mark follows from them, so that a page whose
    content has not changed is not written again."""
    if not any(row.strip() for row in rows):
        return ""
    text = "\n".join(rows)
    marker = hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()[:16]
    return f"{title}\n{fence(text, marker, 'journal')}"
