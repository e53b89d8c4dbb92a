"""The name of a pack: equal for equal content and scope, in every process and at any time."""

from __future__ import annotations

import hashlib
from typing import Any

import msgspec

_NOT_CONTENT = ("build_ms", "memory_age_seconds", "operational_memory_age_seconds")


def pack_hash(text: str, stats: msgspec.Struct, project_key: str, session_id: int | None) -> str:
    """SHA-256 over text, stats and scope; how old it is and how long it took is left out."""
    fields: dict[str, Any] = msgspec.to_builtins(stats)
    kept = {name: value for name, value in fields.items() if name not in _NOT_CONTENT}
    named = {"text": text, "stats": kept, "project_key": project_key, "session_id": session_id}
    return hashlib.sha256(msgspec.json.encode(named, order="deterministic")).hexdigest()
