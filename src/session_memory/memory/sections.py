"""What a session is told of its project's memory at its start: fenced, bounded, reference only."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

from session_memory.core.loop.injection import Section
from session_memory.core.text.own_text import PACK_BEGIN, PACK_END
from session_memory.core.text.safe_text import fence, stripped
from session_memory.memory.layout import MEMORY, SUMMARY, YOURS_BEGIN, memory_root
from session_memory.memory.user_part import yours_in

MAX_CHARS = 4_000
READ_BYTES = 256 * 1024
_COMMENT = re.compile(r"^<!--.*?-->\n?", re.M)
_CITED = re.compile(r" \[e:\d{1,18}\]")


def sections_for(data: Path, root: str) -> tuple[Section, ...]:
    """The section of a project, or none where nothing is remembered of it."""
    folder = memory_root(data, root)
    text = compact(_read(folder / MEMORY)) or _read(folder / SUMMARY)
    if not text:
        return ()
    head = "What earlier sessions in this project left behind; check it before you rely on it."
    path = f"More: {folder}"
    # The same text gives the same mark: a page that did not change is not written again.
    mark = hashlib.sha256(text.encode()).hexdigest()[:12]
    room = MAX_CHARS - len(head) - len(path) - len(fence("", mark, "memory")) - 80
    inside = fence(_fitted(text, room), mark, "memory")
    return (Section("memory", f"{PACK_BEGIN}>\n{head}\n{inside}\n{path}\n{PACK_END}"),)


def compact(page: str) -> str:
    """A MEMORY.md as a session needs it: the user's part first, no marks, no list of sources."""
    yours = yours_in(page).strip()
    made = _COMMENT.sub("", page.partition(YOURS_BEGIN)[0]).partition("\n## Traces\n")[0]
    made = _CITED.sub("", made).strip()
    if made == "# Memory":
        made = ""
    return "\n\n".join(part for part in (yours, made) if part)


def _read(path: Path) -> str:
    if path.is_symlink():
        return ""
    try:
        with path.open("rb") as file:
            data = file.read(READ_BYTES)
    except OSError:
        return ""
    text = stripped(data.decode("utf-8", "replace")).strip()
    # Nothing inside may end the pack around it.
    return text.replace(PACK_END, "").replace(PACK_BEGIN, "")


def _fitted(text: str, room: int) -> str:
    """Whole lines from the beginning, as many as fit."""
    kept: list[str] = []
    used = 0
    for line in text.splitlines():
        used += len(line) + 1
        if used > room:
            kept.append("[...]")
            break
        kept.append(line)
    return "\n".join(kept)
