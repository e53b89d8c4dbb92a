"""How a call can fail. The kind decides whether asking again helps and whether it was billed."""

from __future__ import annotations

from typing import Literal

from session_memory.core.text.safe_text import one_line
from session_memory.errors import ModelFailed
from session_memory.model.port import Usage
from session_memory.regex_cache import compiled

Kind = Literal[
    "rate_limited",
    "overloaded",
    "server",
    "connection",
    "timeout",
    "cut_stream",
    "error_event",
    "empty",
    "refusal",
    "length",
    "rejected",
    "garbage",
]
TRANSIENT: frozenset[Kind] = frozenset(
    {"rate_limited", "overloaded", "server", "connection", "timeout"}
)
"""Failures that go away by themselves. A bad answer is not one: asking again costs the same."""
UNBILLED: frozenset[Kind] = frozenset({"rate_limited", "overloaded", "connection", "rejected"})
"""Failures before any work was done; after any other one the provider may have billed us."""
MAX_MESSAGE_CHARS = 300
API_KEY = compiled(r"\b(?:sk|key|gsk|xai)-[\w*.-]{6,}")


class CallFailed(ModelFailed):
    """One call failed. `usage` is what it cost, or None if it may have cost the full estimate."""

    def __init__(
        self,
        message: str,
        kind: Kind = "garbage",
        *,
        retry_after: float | None = None,
        usage: Usage | None = None,
        hint: str | None = None,
    ) -> None:
        super().__init__(message, hint=hint)
        self.kind: Kind = kind
        self.transient = kind in TRANSIENT
        self.retry_after = retry_after
        self.usage = Usage() if usage is None and kind in UNBILLED else usage


def kind_of_status(status: int) -> Kind:
    """The kind of failure an HTTP status stands for."""
    if status == 429:
        return "rate_limited"
    if status in (503, 529):
        return "overloaded"
    if status in (408, 504):
        return "timeout"
    return "server" if status >= 500 else "rejected"


def short_message(text: str, *secrets: str) -> str:
    """A provider's error message on one short line, without the API key it may repeat."""
    for secret in secrets:
        if secret:
            text = text.replace(secret, "[REDACTED_SECRET]")
    line = one_line(API_KEY.sub("[REDACTED_SECRET]", text))
    return line if len(line) <= MAX_MESSAGE_CHARS else line[: MAX_MESSAGE_CHARS - 1] + "…"
