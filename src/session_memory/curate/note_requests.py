"""What an agent may ask to be noted; light, as the server reads it before its handshake."""

from __future__ import annotations

from typing import Literal

import msgspec


class FixRequest(msgspec.Struct, frozen=True):
    """mem_fix."""

    error: str
    project_key: str | None = None


class NoteRequest(msgspec.Struct, frozen=True):
    """mem_note."""

    text: str
    kind: Literal["observation", "rule", "correction"] = "observation"
    evidence: tuple[int, ...] = ()
    project_key: str | None = None


class DraftRequest(msgspec.Struct, frozen=True):
    """mem_draft."""

    pattern_id: str
    text: str
    project_key: str | None = None


class MemoryWriteRequest(msgspec.Struct, frozen=True):
    """mem_memory_write."""

    lines: tuple[str, ...]
    project_key: str | None = None
