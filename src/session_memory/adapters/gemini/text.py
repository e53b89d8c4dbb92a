"""Who wrote a text of Gemini CLI or Qwen Code, and what a part of a message says in plain words."""

from __future__ import annotations

import re
from collections.abc import Iterator

from session_memory.adapters.common import Json, as_list, as_object, as_text
from session_memory.adapters.excerpt import EXCERPT, Piece, after_blanks, compact_json

_GLUED = {
    "<session_context>": ("</session_context>", "session_context"),
    "<loaded_context>": ("</loaded_context>", "loaded_context"),
    "<hook_context>": ("</hook_context>", "hook_feedback"),
    "<system-reminder>": ("</system-reminder>", "system_reminder"),
}
"""Tags the clients put in front of what the human typed."""

_HEADS = (
    ("This is the Gemini CLI. We are setting up the context", "session_context"),
    ("This is the Qwen Code. We are setting up the context", "session_context"),
    ("Here is the user's editor context", "ide_context"),
    ("Here is a summary of changes in the user's editor context", "ide_context"),
    ("--- Content from referenced files ---", "referenced_files"),
    ("System: Please continue", "continue"),
    ("You have stopped calling tools without finishing", "continue"),
    ("<task-notification>", "task_notification"),
)
_SUMMARY = re.compile(
    r"\s*(?:<(?:scratchpad|analysis)>.*?</(?:scratchpad|analysis)>\s*)?<state_snapshot>", re.S
)
ACKNOWLEDGED = "Got it. Thanks for the additional context!"
"""What the clients let the model say to a context or summary that they wrote themselves."""

_UNTRUSTED = re.compile(r"^</?untrusted_context>\n?", re.M)
_EXIT = re.compile(r"^Exit Code: (-?\d{1,9})$", re.M)
_NO_EXIT = re.compile(r"^(?:Signal: (?!\(none\))|Exit Code: \(none\)|Error: (?!\(none\)))", re.M)
_LEFT_RUNNING = ("moved to background", "Background PIDs:", "is running in the background")
_DENIED = (
    "did not allow tool call",
    "denied by policy",
    "denied by user",
    "execution denied",
    "requires permission",
)
FOOTER = 400
"""How far from its end a shell result states how the command ended."""


def user_pieces(text: str, *, by_agent: bool = False) -> Iterator[Piece]:
    """Take apart what the human typed and what the client put in front of it or wrote instead."""
    start = here = after_blanks(text, 0)
    while tag := next((tag for tag in _GLUED if text.startswith(tag, here)), None):
        closing, label = _GLUED[tag]
        end = text.find(closing, here)
        end = len(text) if end < 0 else end + len(closing)
        yield Piece("injected", "harness", label, text[here:end])
        here = after_blanks(text, end)
    if here < len(text):
        yield _piece_of(text[here:], text if here == start else text[here:], by_agent)


def _piece_of(rest: str, original: str, by_agent: bool) -> Piece:
    if is_summary(rest):
        return Piece("injected", "harness", "compact_summary", rest)
    label = next((label for head, label in _HEADS if rest.startswith(head)), None)
    if label is not None:
        return Piece("injected", "harness", label, rest)
    if by_agent:
        return Piece("injected", "agent", "subagent_prompt", original)
    return Piece("user_prompt", "user", None, original)


def is_summary(text: str) -> bool:
    """True for what a compression leaves of a conversation."""
    return _SUMMARY.match(text, 0, 100_000) is not None


def parts_of(content: Json) -> list[Json]:
    """Content as a list of parts: the clients write text, one part, or a list."""
    if isinstance(content, str):
        return [{"text": content}] if content else []
    if isinstance(content, dict):
        return [content]
    return [{"text": part} if isinstance(part, str) else part for part in as_list(content)]


def text_of(content: Json) -> str:
    """The text of content, its thoughts, calls and media left out."""
    parts = [as_object(part) for part in parts_of(content)]
    said = [as_text(part.get("text")) for part in parts if not part.get("thought")]
    return "\n".join(filter(None, said))


def media_of(part: dict[str, Json]) -> str | None:
    """A placeholder for what is not text: base64 is bulk without meaning for a reader."""
    inline, named = as_object(part.get("inlineData")), as_object(part.get("fileData"))
    kind = as_text(inline.get("mimeType")) or as_text(named.get("mimeType")) or "unknown"
    if "inlineData" in part:
        data = as_text(inline.get("data"))
        return f"[media: {kind}, {len(data) * 3 // 4 - data[-2:].count('=')} bytes]"
    if "fileData" in part:
        return f"[media: {kind}, {as_text(named.get('fileUri'))}]"
    return None


def response_text(response: Json) -> str:
    """What a tool gave back, as the model saw it but for the wrapping."""
    fields = as_object(response)
    said = fields.get("output", fields.get("error"))
    if said is None:
        content = text_of(fields.get("content"))
        return content or ("" if response is None else compact_json(response, EXCERPT))
    text = said if isinstance(said, str) else compact_json(said)
    return unwrapped(text)


def unwrapped(text: str) -> str:
    """A tool's text without the tags that tell the model not to trust it."""
    if not text.startswith(("<untrusted_context>", "Output too large")):
        return text
    return _UNTRUSTED.sub("", text).removesuffix("\n")


def exit_code_of(text: str, *, failed: bool) -> int | None:
    """How a shell command ended; a command that succeeded may have no exit code."""
    end = text[-FOOTER:]
    codes = _EXIT.findall(end)
    if codes:
        return int(codes[-1])
    unclear = failed or _NO_EXIT.search(end) or any(mark in text for mark in _LEFT_RUNNING)
    return None if unclear else 0


def is_denial(text: str) -> bool:
    """True for what the clients write when a human or a rule refused a tool call."""
    head = text[:500]
    return any(mark in head for mark in _DENIED)
