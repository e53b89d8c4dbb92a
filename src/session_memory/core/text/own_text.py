"""Text this program itself put before an agent: it comes back in logs and is no evidence."""

from __future__ import annotations

from session_memory.regex_cache import compiled

BEGIN = "<!-- session-memory:begin"
END = "<!-- session-memory:end -->"
PACK_BEGIN = "<session-memory-pack"
PACK_END = "</session-memory-pack>"
NOTHING_SAVED = "FLUSH_OK - Nothing worth saving from this session"
"""What a daily log says of a session that left nothing."""
CALL_FOLDER = "session-memory-call-"
"""The working directory of a model call of ours that needs none begins so."""

_IN_CALL_FOLDER = compiled(rf"(?:^|[/\\]){CALL_FOLDER}")
_OURS = "session-memory"  # in each mark
_FENCES = ((BEGIN, END), (PACK_BEGIN, PACK_END))


def without_own_text(text: str) -> str:
    """The text without managed blocks, packs and notes; a block that never ends runs to the end."""
    if _OURS not in text:
        return text.replace(NOTHING_SAVED, "")
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
    return text.replace(NOTHING_SAVED, "")


def without_pack_marks(text: str) -> str:
    """The text without the marks of a pack, so that it cannot end the pack it is put into."""
    return text.replace(PACK_END, "").replace(PACK_BEGIN, "")


def is_own_call(cwd: str) -> bool:
    """Whether a session ran where only our own calls of models run."""
    return _IN_CALL_FOLDER.search(cwd) is not None
