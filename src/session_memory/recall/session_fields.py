"""How every answer describes a session: its label, and the version of the agent that wrote it."""

from __future__ import annotations

from typing import Literal

import msgspec

from session_memory.core.text.masks import excerpt
from session_memory.core.text.safe_text import one_line
from session_memory.core.text.similarity import untagged
from session_memory.recall.lanes import Lane
from session_memory.store.scopes import SessionLine

LABEL_CHARS = 120


class CaptureVersion(msgspec.Struct, frozen=True):
    """The version of the agent that wrote a session, if its log says so (IDN-11)."""

    producer_version: str | None
    capture_version_status: Literal["known_session_metadata", "unknown"]
    capture_version_scope: Literal["session", "none"]
    capture_version_inferred: bool = False


def capture_version(client_version: str | None) -> CaptureVersion:
    """What the session's own metadata says; nothing is inferred from anything else."""
    if client_version:
        return CaptureVersion(one_line(client_version), "known_session_metadata", "session")
    return CaptureVersion(None, "unknown", "none")


def display_label(line: SessionLine, lane: Lane) -> str:
    """`<lane or native id> · <first request>`; never the prompt of a program."""
    name = lane.name or line.external_id
    request = line.label or line.title
    return short_line(f"{name} · {request}" if request else name, LABEL_CHARS)


def short_line(text: str, limit: int) -> str:
    """Stored text on one line, without markup or control characters."""
    return one_line(excerpt(untagged(text), limit))[:limit]
