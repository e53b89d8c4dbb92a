"""What pi's content blocks say, and which parts of a user's message no human typed."""

from __future__ import annotations

import re

from session_memory.adapters.common import Json, as_list, as_object, as_text
from session_memory.adapters.excerpt import Piece

_AROUND = (
    ("skill", re.compile(r"<skill [^>\n]*>\n.*?\n</skill>\s*", re.S)),
    ("file", re.compile(r"<file name=[^>\n]*>.*?</file>\s*", re.S)),
    # OpenClaw tells the model who wrote and where, in front of what they wrote.
    ("metadata", re.compile(r"[A-Z][\w ]{2,60}\(untrusted[^)\n]*\):\n```json\n.*?\n```\s*", re.S)),
)
"""What the client puts in front of the words of a prompt, by label."""
_HEADS = (
    ("This session is being continued from", "compact_summary"),
    ("The conversation history before this point was compacted", "compact_summary"),
    ("The following is a summary of a branch", "branch_summary"),
    ("Read HEARTBEAT.md", "heartbeat"),
    ("[cron:", "cron"),
    ("<system-reminder>", "system_reminder"),
)
_EXIT = re.compile(r"(?:^|\n)Command exited with code (-?\d{1,10})\s*$")
_STOPPED = re.compile(r"(?:^|\n)(?:Command|Operation|Request) (?:was )?aborted\.?\s*$")


def content_text(content: Json) -> str:
    """The plain text of a string or a list of blocks; pictures become placeholders."""
    if isinstance(content, str):
        return content
    return "\n".join(filter(None, (_block_text(as_object(block)) for block in as_list(content))))


def _block_text(block: dict[str, Json]) -> str:
    if block.get("type") == "image":
        return f"[{as_text(block.get('mimeType')) or 'image'}]"
    return as_text(block.get("text"))


def user_pieces(text: str) -> list[Piece]:
    """A message under the role `user`, split by who wrote what."""
    pieces: list[Piece] = []
    rest, before = text, ""
    while rest != before:
        before = rest
        for label, pattern in _AROUND:
            if match := pattern.match(rest):
                pieces.append(Piece("injected", "harness", label, match[0].strip()))
                rest = rest[match.end() :]
    if not rest.strip():
        return pieces
    for head, label in _HEADS:
        if rest.startswith(head):
            return [*pieces, Piece("injected", "harness", label, rest)]
    return [*pieces, Piece("user_prompt", "user", None, rest)]


def exit_code_of(text: str) -> int | None:
    """The exit code pi puts behind the output of a command that failed."""
    match = _EXIT.search(text)
    return int(match[1]) if match else None


def was_stopped(text: str) -> bool:
    """True for a result or an answer that the user cut off."""
    return _STOPPED.search(text) is not None
