"""Which sessions are not worth mining, and why."""

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
