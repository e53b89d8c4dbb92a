"""Who wrote a piece of text under Grok Build's role `user`, and what its content blocks say."""

from __future__ import annotations

import re
from typing import NamedTuple

from session_memory.adapters.common import Json, as_list, as_object, as_text
from session_memory.core.schema import EventKind, Origin

QUERY = re.compile(r"<user_query>\n?(.*?)\n?</user_query>", re.S)
"""Grok wraps what the human typed in this before it goes to the model."""

_HEADS = (
    ("<system-reminder>", "system_reminder"),
    ("<user_info>", "user_info"),
    ("<task_notification>", "task_completed"),
    ("<task-notification>", "task_completed"),
    ("<background_context>", "background_context"),
    ("This session is being continued from a previous conversation", "compact_summary"),
)


class Piece(NamedTuple):
    """One part of a text that arrived under the role `user`."""

    kind: EventKind
    origin: Origin
    label: str | None
    text: str


def user_pieces(text: str, reason: str, *, by_agent: bool) -> list[Piece]:
    """Split text by who wrote it; `reason` is Grok's own word for why it wrote it itself."""
    if reason and reason != "interjection":  # typed while the agent was busy: human
        origin: Origin = "agent" if reason == "agent_message" else "harness"
        return [Piece("injected", origin, reason, text)] if text else []
    queries = [match.strip() for match in QUERY.findall(text)]
    if not queries:
        return [_whole(text, by_agent)] if text else []
    pieces: list[Piece] = []
    if around := QUERY.sub("", text).strip():
        pieces.append(Piece("injected", "harness", "context", around))
    return pieces + [_whole(query, by_agent) for query in queries if query]


def _whole(text: str, by_agent: bool) -> Piece:
    for head, label in _HEADS:
        if text.startswith(head):
            return Piece("injected", "harness", label, text)
    if by_agent:
        return Piece("injected", "agent", "subagent_prompt", text)
    return Piece("user_prompt", "user", None, text)


def content_text(content: Json, depth: int = 4) -> str:
    """The plain text of a string, a block, or a list of blocks; media become placeholders."""
    if isinstance(content, str):
        return content
    if not depth:
        return ""
    if isinstance(content, list):
        return "\n".join(filter(None, (content_text(i, depth - 1) for i in as_list(content))))
    block = as_object(content)
    kind = as_text(block.get("type"))
    if kind == "content":
        return content_text(block.get("content"), depth - 1)
    if kind in ("image", "audio"):
        return media_placeholder(block)
    if kind == "resource_link":
        return as_text(block.get("uri"))
    if kind == "resource":
        resource = as_object(block.get("resource"))
        return as_text(resource.get("text")) or as_text(resource.get("uri"))
    return as_text(block.get("text"))


def media_placeholder(block: dict[str, Json]) -> str:
    """What stands for a picture or a sound: its bytes are worth nothing as text."""
    kind = as_text(block.get("mimeType")) or as_text(block.get("mime_type"))
    return f"[{kind or as_text(block.get('type'))}]"
