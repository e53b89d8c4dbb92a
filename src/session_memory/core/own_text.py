"""Text this program itself put before an agent: it comes back in logs and is no evidence."""

from __future__ import annotations

BEGIN = "<!-- session-memory:begin"
END = "<!-- session-memory:end -->"
PACK_BEGIN = "<session-memory-pack"
PACK_END = "</session-memory-pack>"

_FENCES = ((BEGIN, END), (PACK_BEGIN, PACK_END))


def without_own_text(text: str) -> str:
    """The text without managed blocks and packs; one that never ends runs to the end."""
    for begin, end in _FENCES:
        start = text.find(begin)
        if start < 0:
            continue
        kept: list[str] = []
        here = 0
        while start >= 0:
            kept.append(text[here:start])
            stop = text.find(end, start)
            here = len(text) if stop < 0 else stop + len(end)
            start = text.find(begin, here)
        kept.append(text[here:])
        text = "".join(kept)
    return text
