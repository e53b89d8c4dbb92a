"""The mark a secret leaves behind: tagged where it is stored, plain where it is shown."""

from __future__ import annotations

import re

from session_memory.core.hashing import blake2b

PLAIN = "[REDACTED_SECRET]"
MARK = re.compile(rb"\[REDACTED_SECRET(?::[0-9a-f]{8})?\]")
_OPENING = b"[REDACTED_SECRET"
_TAGGED = re.compile(r"\[REDACTED_SECRET:[0-9a-f]{8}\]")


def placeholder(secret: bytes, key: bytes) -> bytes:
    """The stored mark. The tag is keyed, so equal secrets look equal and cannot be guessed."""
    tag = blake2b(secret, key=key, digest_size=4).hexdigest()
    return b"[REDACTED_SECRET:%s]" % tag.encode()


def marks(data: bytes) -> list[tuple[int, int, bool]]:
    """The text as (start, end, whether this is a mark): rules may look at the rest only."""
    if _OPENING not in data:
        return [(0, len(data), False)]
    found: list[tuple[int, int, bool]] = []
    start = 0
    for mark in MARK.finditer(data):
        found += ((start, mark.start(), False), (mark.start(), mark.end(), True))
        start = mark.end()
    found.append((start, len(data), False))
    return [item for item in found if item[0] < item[1]]


def render(text: str) -> str:
    """Stored text as people and models see it: every mark without its tag."""
    return _TAGGED.sub(PLAIN, text) if "[REDACTED_SECRET:" in text else text
