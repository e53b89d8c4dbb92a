"""What a new session gets from its project's memory: fenced, bounded, for reference only."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from pathlib import Path

from session_memory.core.loop.injection import Section
from session_memory.core.text.own_text import PACK_BEGIN, PACK_END, without_pack_marks
from session_memory.core.text.safe_text import fence, one_line, stripped
from session_memory.memory.layout import MEMORY, SUMMARY, memory_root
from session_memory.memory.user_part import USER_PART_BEGIN, user_part_of

MAX_CHARS = 4_000
READ_BYTES = 256 * 1024
_COMMENT = re.compile(r"^<!--.*?-->\n?", re.M)
_CITED = re.compile(r" \[e:\d{1,18}\]")


def sections_for(data: Path, root: str, lines: Sequence[str] | None = None) -> tuple[Section, ...]:
    """The section of a project, or none if there is nothing to say.

    It holds what the user wrote into MEMORY.md, then the lines of a briefing; without lines (a
    model wrote the page, and chose its words) the page itself.
    """
    folder = memory_root(data, root)
    page = _read(folder / MEMORY)
    if lines is None:
        text = compact(page) or _read(folder / SUMMARY)
    else:
        listed = "\n".join(f"- {without_pack_marks(one_line(line))}" for line in lines)
        text = "\n\n".join(part for part in (user_part_of(page).strip(), listed) if part)
    if not text:
        return ()
    head = "What earlier sessions in this project left behind; check it before you rely on it."
    path = f"More: {folder}" if page else "More: ask the tools of session-memory"
    # The same text gives the same marker: a page that did not change is not written again.
    marker = hashlib.sha256(text.encode()).hexdigest()[:12]
    room = MAX_CHARS - len(head) - len(path) - len(fence("", marker, "memory")) - 80
    inside = fence(_fitted(text, room), marker, "memory")
    return (Section("memory", f"{PACK_BEGIN}>\n{head}\n{inside}\n{path}\n{PACK_END}"),)


def compact(page: str) -> str:
    """A MEMORY.md as a session needs it: the user part first, no marks, no list of sources."""
    user_part = user_part_of(page).strip()
    head = _COMMENT.sub("", page.partition(USER_PART_BEGIN)[0])
    generated = _CITED.sub("", head.partition("\n## Traces\n")[0]).strip()
    if generated == "# Memory":
        generated = ""
    return "\n\n".join(part for part in (user_part, generated) if part)


def _read(path: Path) -> str:
    if path.is_symlink():
        return ""
    try:
        with path.open("rb") as file:
            data = file.read(READ_BYTES)
    except OSError:
        return ""
    text = stripped(data.decode("utf-8", "replace")).strip()
    # Nothing in the text may end the pack around it.
    return text.replace(PACK_END, "").replace(PACK_BEGIN, "")


def _fitted(text: str, room: int) -> str:
    """As many whole lines from the beginning as fit."""
    fitting: list[str] = []
    used = 0
    for line in text.splitlines():
        used += len(line) + 1
        if used > room:
            fitting.append("[...]")
            break
        fitting.append(line)
    return "\n".join(fitting)
