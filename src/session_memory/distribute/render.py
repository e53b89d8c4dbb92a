"""Approved patterns as agents read them: a line of a block, a skill, a section of a page. Pure."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable

import msgspec

from session_memory.core.loop.catalog import Pattern
from session_memory.core.loop.injection import Section
from session_memory.core.loop.tool_words import in_foreign_words
from session_memory.core.loop.trials import section_id
from session_memory.core.text.own_text import END, PACK_BEGIN, PACK_END
from session_memory.core.text.safe_text import one_line, stripped
from session_memory.core.text.seal import Seal
from session_memory.distribute.block import begin_marker

Clean = Callable[[str], str]

HEAD = "Learned from earlier sessions; `session-memory rules explain ID` says where a line is from."
LINE_CHARS = 300
"""A longer text becomes a skill where skills are on, so that agents read it only when needed."""
SKILL_NAME = 64
DESCRIPTION_CHARS = 200
# Anything that looks like one of our markers; agents understand the entity just as well.
_MARKUP = re.compile(r"<(?=\s*!--|\s*/?\s*session-memory)", re.IGNORECASE)


class Lesson(msgspec.Struct, frozen=True):
    """An approved pattern in the words agents are given, and where it was seen."""

    id: str
    version: int
    text: str
    value: tuple[float, int, int]
    """Dollars, sessions, occurrences: lessons are ordered by it."""
    repos: tuple[str, ...]
    is_foreign: bool = False
    """Whether its text quotes the output of a tool."""

    @property
    def line_id(self) -> str:
        """What its line is marked with."""
        return f"sm-{self.id}"

    @property
    def is_long(self) -> bool:
        """Whether it is more than a line."""
        text = self.text.strip()
        return len(text) > LINE_CHARS or "\n" in text


def lessons(patterns: Iterable[Pattern], clean: Clean) -> tuple[Lesson, ...]:
    """The patterns as lessons, the most valuable first; patterns without text are left out."""
    made = [_lesson(pattern, clean) for pattern in patterns]
    return tuple(sorted((lesson for lesson in made if lesson.text), key=_by_value))


def _lesson(pattern: Pattern, clean: Clean) -> Lesson:
    counts, text = pattern.current.snapshot, clean(pattern.current.text)
    return Lesson(
        id=pattern.id,
        version=pattern.current.number,
        text=_MARKUP.sub("&lt;", stripped(text)).strip(),
        value=(counts.cost_impact, counts.sessions, counts.frequency),
        repos=counts.repos,
        is_foreign=in_foreign_words(pattern, pattern.current.text),
    )


def _by_value(lesson: Lesson) -> tuple[float, int, int, str]:
    usd, sessions, times = lesson.value
    return (-usd, -sessions, -times, lesson.id)


def bullet(lesson: Lesson) -> str:
    """The one line of a block that gives a lesson."""
    return f"- {one_line(lesson.text)} [{lesson.line_id}]"


def gives(line: str, line_id: str) -> bool:
    """Whether a line of a block gives that lesson."""
    return line.rstrip().endswith(f"[{line_id}]")


def skill_name(pattern: str) -> str:
    """The folder of a pattern's skill; agents allow lower-case letters, digits and hyphens."""
    name = f"sm-{pattern}"
    if "_" not in name and len(name) <= SKILL_NAME:
        return name
    short = hashlib.sha256(pattern.encode()).hexdigest()[:8]  # two ids may differ in `_` alone
    return f"{name.replace('_', '-')[: SKILL_NAME - 9].rstrip('-')}-{short}"


def skill_file(lesson: Lesson, seal: Seal) -> bytes:
    """`SKILL.md` of a lesson, with our seal over all of it."""
    described = one_line(lesson.text.partition("\n")[0])[:DESCRIPTION_CHARS]
    quoted = msgspec.json.encode(f"Learned from earlier sessions: {described}").decode()
    front = f"---\nname: {skill_name(lesson.id)}\ndescription: {quoted}\n---\n\n"
    source = f"`session-memory rules explain {lesson.line_id}` tells where this comes from."
    body = f"{lesson.text}\n\n{source} [{lesson.line_id}]\n{END}\n"
    content = f"{front}{body}".encode("utf-8", "replace")
    marker = begin_marker(content, seal).encode() + b"\n"
    at = len(front.encode("utf-8", "replace"))
    return content[:at] + marker + content[at:]


def section(lesson: Lesson, *, on_trial: bool) -> Section:
    """What a session is given at its start; the tags mark it as ours, so that it is no evidence."""
    text = f'{PACK_BEGIN} id="{lesson.line_id}">\n{lesson.text}\n{PACK_END}'
    return Section(section_id(lesson.id), text, lesson.id if on_trial else None)
