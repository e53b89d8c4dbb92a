"""Parses a trace: its rules, and each task with its outcome and bullets."""

from __future__ import annotations

import re
from typing import Literal

import msgspec

from session_memory.core.schema import Outcome
from session_memory.core.text.masks import excerpt
from session_memory.memory.trace_text import FALLBACKS, OUTCOMES, TASK_HEADINGS, title_of
from session_memory.store.memories import Trace

SectionName = Literal["steps", "failures", "knowledge", "pointers"]
_SECTIONS: tuple[SectionName, ...] = ("steps", "failures", "knowledge", "pointers")
_BY_HEADING: dict[str, SectionName] = dict(zip(TASK_HEADINGS, _SECTIONS, strict=True))
_EVENT = re.compile(r"\s*\[e:(\d{1,18})\]")
_NOTHING = frozenset(
    ("none", "none.", "none observed", "n/a", "-", *(words.casefold() for words in FALLBACKS))
)
"""Bullets that only say that there is nothing to say."""


MAX_CHARS = 600
"""Length of one bullet: a trace written by a model may contain anything."""
MAX_BULLETS = 40
MAX_TASKS = 30


class Bullet(msgspec.Struct, frozen=True):
    """One bullet and the events it cites."""

    text: str
    events: tuple[int, ...] = ()


class TraceTask(msgspec.Struct, frozen=True):
    """One task of a trace."""

    name: str
    outcome: Outcome
    grounds: str = ""
    event: int = 0
    sections: dict[SectionName, tuple[Bullet, ...]] = {}

    def bullets(self, section: SectionName) -> tuple[Bullet, ...]:
        """The bullets of one section."""
        return self.sections.get(section, ())


class ParsedTrace(msgspec.Struct, frozen=True):
    """What one trace says."""

    thread: str
    at: int
    title: str
    outcome: Outcome
    rules: tuple[Bullet, ...] = ()
    tasks: tuple[TraceTask, ...] = ()


def parse_trace(trace: Trace) -> ParsedTrace:
    """Read a trace; text under unknown headings is ignored."""
    head, *sections = re.split(r"(?m)^## Task:[ \t]*", trace.trace_summary)
    tasks = tuple(_parse_task(section) for section in sections[-MAX_TASKS:])
    label = head.partition("\n")[0].rpartition("(")[2].rstrip(") ")
    return ParsedTrace(
        trace.thread_id,
        trace.updated_at,
        excerpt(title_of(trace.trace_summary), MAX_CHARS),
        OUTCOMES.get(label.strip().lower()) or _common_outcome(tasks),
        _parse_bullets(head.partition("User preferences:")[2]),
        tasks,
    )


def _parse_task(text: str) -> TraceTask:
    name, _, body = text.partition("\n")
    label, grounds, event = "uncertain", "", 0
    sections: dict[SectionName, tuple[Bullet, ...]] = {}
    section: SectionName | None = None
    lines: list[str] = []
    # A last heading ends the section before it.
    for line in [*body.splitlines(), "Pointers and references:"]:
        heading = line.strip().strip("*")
        next_section = _BY_HEADING.get(heading) or _match_shortened(heading)
        if next_section is None:
            if heading.startswith("Outcome:"):
                label, grounds, event = _parse_outcome(heading)
            lines.append(line)
            continue
        if section is not None:
            bullets = _parse_bullets("\n".join(lines))
            sections[section] = (*sections.get(section, ()), *bullets)
        section, lines = next_section, []
    event = event or next(iter(_events(name)), 0)
    outcome = OUTCOMES.get(label, "uncertain")
    name = excerpt(_EVENT.sub("", name).strip(), MAX_CHARS)
    return TraceTask(name, outcome, excerpt(grounds, MAX_CHARS), event, sections)


def _match_shortened(heading: str) -> SectionName | None:
    """The section of a heading that a model shortened."""
    for full, section in _BY_HEADING.items():
        if heading.endswith(":") and full.split()[0:2] == heading.rstrip(":").split()[0:2]:
            return section
    return "pointers" if heading == "Pointers and references:" else None


def _parse_outcome(line: str) -> tuple[str, str, int]:
    """Label, grounds and event of a line such as `Outcome: success (tests pass) [e:12]`."""
    text = _EVENT.sub("", line.removeprefix("Outcome:")).strip(" *_`")
    label, _, rest = text.partition(" ")
    event = next(iter(_events(line)), 0)
    return label.lower().strip("*_`.,;"), rest.strip().removeprefix("(").removesuffix(")"), event


def _parse_bullets(text: str) -> tuple[Bullet, ...]:
    bullets: list[Bullet] = []
    for line in text.splitlines():
        stripped = line.strip()
        if not stripped.startswith(("- ", "* ")):
            continue
        words = _EVENT.sub("", stripped[2:]).strip()
        if words and words.casefold() not in _NOTHING:
            bullets.append(Bullet(excerpt(words, MAX_CHARS), _events(stripped)))
            if len(bullets) == MAX_BULLETS:
                break
    return tuple(bullets)


def _events(text: str) -> tuple[int, ...]:
    return tuple(dict.fromkeys(int(number) for number in _EVENT.findall(text)))


def _common_outcome(tasks: tuple[TraceTask, ...]) -> Outcome:
    outcomes: list[Outcome] = sorted({task.outcome for task in tasks})
    return outcomes[0] if len(outcomes) == 1 else "uncertain"
