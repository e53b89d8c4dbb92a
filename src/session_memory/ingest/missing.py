"""Parts of logs that were not there when their sessions were captured, and still are not."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from session_memory.store.port import CaptureStore


class MissingPart(msgspec.Struct, frozen=True):
    """A part that sessions of one agent were captured without."""

    flavor: str
    part: str
    sessions: int
    example: str
    """Native id of one of the sessions."""

    @property
    def description(self) -> str:
        """In words."""
        noun = "session" if self.sessions == 1 else "sessions"
        return (
            f"{self.flavor}: {self.sessions} {noun} captured without {self.part}, such as"
            f" {self.example}: what only that file holds is missing"
        )


def missing_parts(store: CaptureStore) -> list[MissingPart]:
    """By agent and part. What lies next to its log again is left to the next sweep."""
    sessions_without: dict[tuple[str, str], set[str]] = {}
    for flavor, session, part, path in store.missing_parts():
        if not os.path.exists(os.path.join(os.path.dirname(path), part)):
            sessions_without.setdefault((flavor, part), set()).add(session)
    return [
        MissingPart(flavor, part, len(sessions), min(sessions))
        for (flavor, part), sessions in sorted(sessions_without.items())
    ]
