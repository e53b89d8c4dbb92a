"""A trace taken apart again: its rules, and each task with how it ended and what it says."""

from __future__ import annotations

import re
from typing import Literal

import msgspec

from session_memory.core.schema import Outcome
from session_memory.core.text.masks import excerpt
from session_memory.memory.trace_text import FALLBACKS, OUTCOMES, TASK_HEADINGS, title_of
from session_memory.store.memories import Trace

Place = Literal["steps", "failures", "knowledge", "pointers"]
_PLACES: tuple[Place, ...] = ("steps", "failures", "knowledge", "pointers")
_BY_HEADING: dict[str, Place] = dict(zip(TASK_HEADINGS, _PLACES, strict=True))
_EVENT = re.compile(r"\s*\[e:(\d{1,18})\]")
_NOTHING = frozenset(
    ("none", "none.", "none observed", "n/a", "-", *(words.casefold() for words in FALLBACKS))
)
"""Bullets that only say that there is nothing to say."""


MAX_CHARS = 600
"""Of one bullet: a trace that a model wrote may hold anything."""
MAX_BULLETS = 40
MAX_TASKS = 30


class Said(msgspec.Struct, frozen=True):
    """One bullet, without the marks of its events."""

    text: str
    events: tuple[int, ...] = ()


class Task(msgspec.Struct, frozen=True):
    """One piece of work as a trace tells it."""

    name: str
    outcome: Outcome
    grounds: str = ""
    event: int = 0
    said: dict[Place, tuple[Said, ...]] = {}

    def of(self, place: Place) -> tuple[Said, ...]:
        """The bullets under one heading."""
        return self.said.get(place, ())


class Parts(msgspec.Struct, frozen=True):
    """What one trace says."""

    thread: str
    at: int
    title: str
    outcome: Outcome
    rules: tuple[Said, ...] = ()
    tasks: tuple[Task, ...] = ()


def take_apart(trace: Trace) -> Parts:
    """Read a trace; what stands under no heading we know is left to its file."""
    head, *sections = re.split(r"(?m)^## Task:[ \t]*", trace.trace_summary)
    tasks = tuple(_task(section) for section in sections[-MAX_TASKS:])
    rules = head.partition("User preferences:")[2]
    return Parts(
        trace.thread_id,
        trace.updated_at,
        excerpt(title_of(trace.trace_summary), MAX_CHARS),
        _outcome_in(head.partition("\n")[0].rpartition("(")[2].rstrip(") ")) or _joined(tasks),
        _bullets(rules),
        tasks,
    )


def _task(section: str) -> Task:
    name, _, body = section.partition("\n")
    label, grounds, event = "uncertain", "", 0
    said: dict[Place, tuple[Said, ...]] = {}
    place: Place | None = None
    lines: list[str] = []
    for line in [*body.splitlines(), "Pointers and references:"]:
        heading = line.strip().strip("*")
        found = _BY_HEADING.get(heading) or _loosely(heading)
        if found is None:
            if heading.startswith("Outcome:"):
                label, grounds, event = _outcome_line(heading)
            lines.append(line)
            continue
        if place is not None:
            said[place] = (*said.get(place, ()), *_bullets("\n".join(lines)))
        place, lines = found, []
    event = event or next(iter(_events(name)), 0)
    known = OUTCOMES.get(label, "uncertain")
    short = excerpt(_EVENT.sub("", name).strip(), MAX_CHARS)
    return Task(short, known, excerpt(grounds, MAX_CHARS), event, said)


def _loosely(heading: str) -> Place | None:
    """A heading that a model shortened."""
    for full, place in _BY_HEADING.items():
        if heading.endswith(":") and full.split()[0:2] == heading.rstrip(":").split()[0:2]:
            return place
    return "pointers" if heading == "Pointers and references:" else None


def _outcome_line(line: str) -> tuple[str, str, int]:
    text = _EVENT.sub("", line.removeprefix("Outcome:")).strip(" *_`")
    label, _, rest = text.partition(" ")
    event = next(iter(_events(line)), 0)
    return label.lower().strip("*_`.,;"), rest.strip().removeprefix("(").removesuffix(")"), event


def _bullets(text: str) -> tuple[Said, ...]:
    found: list[Said] = []
    for line in text.splitlines():
        stripped = line.strip()
        if not stripped.startswith(("- ", "* ")):
            continue
        words = _EVENT.sub("", stripped[2:]).strip()
        if words and words.casefold() not in _NOTHING:
            found.append(Said(excerpt(words, MAX_CHARS), _events(stripped)))
            if len(found) == MAX_BULLETS:
                break
    return tuple(found)


def _events(text: str) -> tuple[int, ...]:
    return tuple(dict.fromkeys(int(number) for number in _EVENT.findall(text)))


def _outcome_in(word: str) -> Outcome | None:
    return OUTCOMES.get(word.strip().lower())


def _joined(tasks: tuple[Task, ...]) -> Outcome:
    labels: list[Outcome] = sorted({task.outcome for task in tasks})
    return labels[0] if len(labels) == 1 else "uncertain"
