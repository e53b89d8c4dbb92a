"""What can be asked of recall: one frozen value per kind of question, with its limits clamped.

The MCP server imports this before its handshake, so it must stay cheap to import.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from session_memory.core.schema import EventKind
from session_memory.errors import UsageError

Budget = Literal["auto", "micro", "normal", "full"]
ANSWER_BYTES = 11_500
"""Size of the largest answer as JSON: clients cut longer ones, or keep them from the model."""
MAX_FILES = 20
HINT_CHARS = 400
_PACK_CHARS = (400, 6000)


def clamped(number: int, least: int, most: int) -> int:
    """The nearest allowed number: a limit out of range is no reason to refuse an answer."""
    return max(least, min(most, number))


def page_start(cursor: str | None) -> int:
    """Where a page begins; raises for what no answer gave."""
    if cursor is None:
        return 0
    if not (cursor.isascii() and cursor.isdigit() and len(cursor) < 10):
        raise UsageError("Wrong argument: cursor", hint="next_cursor of the answer before")
    return int(cursor)


class SessionListRequest(msgspec.Struct, frozen=True):
    """mem_session_list; where both are given, `query` and `sub_scope_hint` must both match."""

    project_key: str
    limit: int = 20
    query: str | None = None
    sub_scope_hint: str | None = None

    @property
    def count(self) -> int:
        """How many sessions to list, 1 to 100."""
        return clamped(self.limit, 1, 100)


class ScopeResolveRequest(msgspec.Struct, frozen=True):
    """mem_scope_resolve."""

    project_key: str
    hint: str | None = None
    current_cwd: str | None = None
    repo_path: str | None = None
    mentioned_files: tuple[str, ...] = ()
    limit: int = 8

    @property
    def count(self) -> int:
        """How many candidates to name, 1 to 20."""
        return clamped(self.limit, 1, 20)


class BootstrapRequest(msgspec.Struct, frozen=True):
    """mem_bootstrap_context; the four hints count as one."""

    project_key: str | None = None
    hint: str | None = None
    thread_hint: str | None = None
    chat_title: str | None = None
    active_chat_label: str | None = None
    current_cwd: str | None = None
    repo_path: str | None = None
    mentioned_files: tuple[str, ...] = ()
    session_id: int | None = None
    budget: Budget = "micro"

    @property
    def merged_hint(self) -> str | None:
        """The four hints joined, without repeats."""
        hints = (self.hint, self.thread_hint, self.chat_title, self.active_chat_label)
        different = dict.fromkeys(hint.strip() for hint in hints if hint and hint.strip())
        return " ".join(different) or None


class PackRequest(msgspec.Struct, frozen=True):
    """mem_context_pack."""

    project_key: str | None = None
    session_id: int | None = None
    budget: Budget = "auto"
    max_chars: int | None = None
    known_pack_hash: str | None = None

    @property
    def chars(self) -> int | None:
        """The requested size in characters, clamped to 400 to 6000."""
        return None if self.max_chars is None else clamped(self.max_chars, *_PACK_CHARS)


class ScopeRequest(msgspec.Struct, frozen=True):
    """mem_project_brief, mem_open_work, mem_completion_check, mem_scope_guard, mem_recent_changes.

    A session without a project asks about that session alone (SCP-12).
    """

    project_key: str | None = None
    session_id: int | None = None


class SearchRequest(msgspec.Struct, frozen=True):
    """mem_search and mem_recent."""

    query: str = ""
    project_key: str | None = None
    session_id: int | None = None
    limit: int = 10
    flavor: str | None = None
    kinds: tuple[EventKind, ...] = ()
    tool: str | None = None
    file: str | None = None
    since: int | None = None
    until: int | None = None
    errors_only: bool = False
    cursor: str | None = None
    """`next_cursor` of the page before."""
    scope: Literal["own", "team"] = "own"
    """`team`: a server that may ask the user's team adds what others shared."""

    @property
    def count(self) -> int:
        """How many hits to give, 1 to 50."""
        return clamped(self.limit, 1, 50)

    @property
    def offset(self) -> int:
        """How many hits the pages before gave."""
        return page_start(self.cursor)


class ObservationRequest(msgspec.Struct, frozen=True):
    """mem_get and mem_provenance."""

    observation_id: str
    project_key: str | None = None
    """Set by a server that answers for one project alone."""


class TranscriptRequest(msgspec.Struct, frozen=True):
    """mem_transcript."""

    session_id: int
    project_key: str | None = None
    limit: int = 20
    cursor: str | None = None
    around: int | None = None
    """The event that the first page is about."""
    kinds: tuple[EventKind, ...] = ()
    tool: str | None = None
    file: str | None = None
    since: int | None = None
    until: int | None = None
    errors_only: bool = False

    @property
    def count(self) -> int:
        """How many events to give, 1 to 50."""
        return clamped(self.limit, 1, 50)


class EventRequest(msgspec.Struct, frozen=True):
    """mem_event."""

    event_id: int
    project_key: str | None = None
    before: int = 2
    after: int = 2
    cursor: str | None = None

    def neighbours(self, wanted: int) -> int:
        """How many neighbours to show on one side, 0 to 10."""
        return clamped(wanted, 0, 10)


class DiffRequest(msgspec.Struct, frozen=True):
    """mem_diff; of a session, or of one event of it."""

    session_id: int | None = None
    event_id: int | None = None
    project_key: str | None = None
    file: str | None = None
    limit: int = 20
    cursor: str | None = None

    @property
    def count(self) -> int:
        """How many edits to give, 1 to 50."""
        return clamped(self.limit, 1, 50)
