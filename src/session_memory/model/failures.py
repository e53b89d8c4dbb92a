"""How a call can fail: the kind decides whether trying again helps, and whether it was billed."""

from __future__ import annotations

import re
from typing import Literal

from session_memory.core.text.safe_text import one_line
from session_memory.errors import ModelFailed
from session_memory.model.port import Usage

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
"""Failures that pass by themselves; what the model said badly once costs the same again."""
UNBILLED: frozenset[Kind] = frozenset({"rate_limited", "overloaded", "connection", "rejected"})
"""Failures that came instead of work; after any other the provider may have billed us."""
LONGEST = 300
KEY = re.compile(r"\b(?:sk|key|gsk|xai)-[\w*.-]{6,}")


class CallFailed(ModelFailed):
    """One call failed. `usage` is what it cost as far as known; None: perhaps all it might."""

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
    """What an HTTP status says about the call."""
    if status == 429:
        return "rate_limited"
    if status in (503, 529):
        return "overloaded"
    if status in (408, 504):
        return "timeout"
    return "server" if status >= 500 else "rejected"


def tidy(text: str, *secrets: str) -> str:
    """A provider's words as one short line, without the key they may repeat."""
    for secret in secrets:
        if secret:
            text = text.replace(secret, "[REDACTED_SECRET]")
    line = one_line(KEY.sub("[REDACTED_SECRET]", text))
    return line if len(line) <= LONGEST else line[: LONGEST - 1] + "…"
