"""Events as search shows them: the part of the text around the words, on one line."""

from __future__ import annotations

import re
from collections.abc import Iterable

import msgspec

from session_memory.core.schema import Project, SessionEvent
from session_memory.core.text.safe_text import one_line
from session_memory.errors import NotFound
from session_memory.recall.requests import SearchRequest
from session_memory.recall.scope import is_outside, is_program
from session_memory.store.port import SessionReader, TextFilter
from session_memory.store.scopes import SessionLine

SNIPPET_CHARS = 240
LEAD_CHARS = 60
"""Text shown before the first matching word."""
_SPACE = re.compile(r"\s+")


class SearchScope(msgspec.Struct, frozen=True):
    """Where hits may come from: everywhere, one project, or one session."""

    project: Project | None = None
    session: SessionLine | None = None


def text_filter(request: SearchRequest, within: SearchScope) -> TextFilter:
    """What a request may find."""
    project = within.project if within.session is None else None
    return TextFilter(
        session=within.session.id if within.session else None,
        project_id=project.id if project else None,
        flavor=request.flavor,
        kinds=request.kinds,
        tool=request.tool,
        file=request.file,
        since=request.since,
        until=request.until,
        errors_only=request.errors_only,
    )


def is_searched(line: SessionLine | None, within: SearchScope) -> bool:
    """Whether a search covers a session: not a program's own, nor one that ran elsewhere (IDN-12).

    A search limited to one session covers that session wherever it ran.
    """
    if line is None or is_program(line):
        return False
    if within.project is None or within.session is not None:
        return True
    return not is_outside(within.project, line)


def shown_text(store: SessionReader, event: SessionEvent) -> str | None:
    """What an event says, with blanks of any kind as one; None if it was evicted meanwhile."""
    try:
        return _SPACE.sub(" ", event.command or store.text(event))
    except NotFound:
        return None


def snippet(text: str, stems: Iterable[str]) -> str:
    """The part of a text around the first matching word, on one line."""
    low = text.lower()
    first = min((index for each in stems if (index := low.find(each)) >= 0), default=0)
    start = max(0, first - LEAD_CHARS)
    end = start + SNIPPET_CHARS
    before, after = "..." if start else "", "..." if end < len(text) else ""
    return one_line(f"{before}{text[start:end]}{after}")
