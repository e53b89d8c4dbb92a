"""The mark a secret leaves behind: tagged where it is stored, plain where it is shown."""

from __future__ import annotations

import re
from hashlib import blake2b

PLAIN = "[REDACTED_SECRET]"
MARK = re.compile(rb"\[REDACTED_SECRET(?::[0-9a-f]{8})?\]")
_OPENING = b"[REDACTED_SECRET"
_TAGGED = re.compile(r"\[REDACTED_SECRET:[0-9a-f]{8}\]")


def placeholder(secret: bytes, key: bytes) -> bytes:
    """The stored mark. The tag is keyed, so equal secrets look equal and cannot be guessed."""
    tag = blake2b(secret, key=key, digest_size=4).hexdigest()
    return b"[REDACTED_SECRET:%s]" % tag.encode()


def gaps(data: bytes) -> list[tuple[int, int]]:
    """The stretches between marks, (0, len) when there is none: all that rules may look at."""
    if _OPENING not in data:
        return [(0, len(data))]
    found: list[tuple[int, int]] = []
    start = 0
    for mark in MARK.finditer(data):
        found.append((start, mark.start()))
        start = mark.end()
    found.append((start, len(data)))
    return [(start, end) for start, end in found if start < end]


def render(text: str) -> str:
    """Stored text as people and models see it: every mark without its tag."""
    return _TAGGED.sub(PLAIN, text) if "[REDACTED_SECRET:" in text else text
