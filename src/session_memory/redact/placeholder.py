"""The placeholder for a secret: tagged when stored, plain when shown."""

from __future__ import annotations

from session_memory.core.hashing import blake2b
from session_memory.regex_cache import compiled

PLAIN = "[REDACTED_SECRET]"
MARK = compiled(rb"\[REDACTED_SECRET(?::[0-9a-f]{8})?\]")
_OPENING = b"[REDACTED_SECRET"
_TAGGED = compiled(r"\[REDACTED_SECRET:[0-9a-f]{8}\]")


def placeholder(secret: bytes, key: bytes) -> bytes:
    """The stored mark. Its tag is a keyed hash: equal for equal secrets, no help in guessing."""
    tag = blake2b(secret, key=key, digest_size=4).hexdigest()
    return b"[REDACTED_SECRET:%s]" % tag.encode()


def marks(data: bytes) -> list[tuple[int, int, bool]]:
    """The text as (start, end, whether this is a mark): rules apply to the rest only."""
    if _OPENING not in data:
        return [(0, len(data), False)]
    parts: list[tuple[int, int, bool]] = []
    start = 0
    for mark in MARK.finditer(data):
        parts += ((start, mark.start(), False), (mark.start(), mark.end(), True))
        start = mark.end()
    parts.append((start, len(data), False))
    return [part for part in parts if part[0] < part[1]]


def render(text: str) -> str:
    """Stored text as shown to people and models: marks without their tags."""
    return _TAGGED.sub(PLAIN, text) if "[REDACTED_SECRET:" in text else text
