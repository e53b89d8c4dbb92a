"""What a session is shown as, and whether it is worth mining."""

from __future__ import annotations

from session_memory.core.schema import Digest, Session


def low_value_reason(session: Session, digest: Digest) -> str | None:
    """Why a session is not worth mining, or None if it is."""
    if session.source_kind == "internal":
        return "internal session of the agent"
    if digest.tools or digest.requests:
        return None
    if digest.internal_prompts:
        return "internal_title_generation_prompt"
    if digest.objective is not None and digest.objective.startswith("/"):
        return "only slash commands"
    if digest.turns:
        return "nothing was asked for"
    return "no user prompt and no tool call"


def labels(digest: Digest) -> dict[str, str | bool | None]:
    """What a session is shown as: what its user asked for, never a program's own prompt."""
    return {
        "operational_label": (digest.objective or "")[:120] or None,
        "internal_prompt_suppressed": True if digest.internal_prompts else None,
    }
