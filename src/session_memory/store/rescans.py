"""Replacing words of what is stored, and how far redacting it again has come."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from session_memory.core.rescan import RescanMark
from session_memory.core.schema import SessionEvent


class RescanStore(Protocol):
    """Rewriting sessions, and noting which newer rules have seen."""

    def last_session(self) -> int:
        """The highest number of a session; 0 while there is none."""
        ...

    def rescan_mark(self) -> RescanMark | None:
        """How far redacting again has come; None where it was not noted yet."""
        ...

    def mark_rescan(self, mark: RescanMark) -> None:
        """Note how far redacting again has come."""
        ...

    def rewrite(self, session_id: int, edit: Callable[[SessionEvent], SessionEvent | None]) -> int:
        """Replace or drop events of a session; returns how many changed."""
        ...

    def holding_words(self, words: Callable[[bytes], bytes]) -> set[int]:
        """The sessions that `replace_words` would change."""
        ...

    def replace_words(self, words: Callable[[bytes], bytes]) -> set[int]:
        """Replace words in digests and facts, given as JSON; returns the changed sessions."""
        ...
