"""A session's trace without a model: from its digest, its observations and the events they cite.

Only what the session shows is written, each line with its event; what is left out for length is
counted. A session that shows nothing worth keeping gives no trace, and the reason.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

import msgspec

from session_memory.core.schema import Observation
from session_memory.core.text.similarity import PhraseIndex, phrase
from session_memory.memory.failures import Failure, failures_in, name_of, place_of
from session_memory.memory.tasks import Part, Ran, Source, outcome_of, parts_of
from session_memory.memory.trace_text import NO_PREFERENCES, TASK_HEADINGS
from session_memory.memory.wording import (
    answer_of,
    cite,
    code,
    headline,
    says_something,
    short_path,
    told,
)

MAX_TASKS = 8
MAX_LINES = 6
MAX_PREFERENCES = 10
SUMMARY_WORDS = 100
_ASKED_CHARS = 90
_STEP_CHARS = 300
_RULE_CHARS = 240
_COMMAND_CHARS = 100
_TELLING_CHARS = 30  # "analyse this one" does not say what
_STEPS: tuple[str, ...] = ("session_summary", "completed_item", "decision")
_URL = re.compile(r"https?://[^\s<>()\"'`]{8,200}")
_PASSING = re.compile(r"(?:^|/)(?:tmp|temp|scratchpad|node_modules|\.git|plans)/|/private/", re.I)
_PASSING_BY = re.compile(r"git stash|/tmp/|--version|[\"'$]|\bsleep\b")
"""What stands in a check that was made for one moment: nobody types it again."""
_AND = re.compile(r"\s*&&\s*")
_ECHO = re.compile(r" && (?:echo|ls|pwd)\b[^&]*")
_ELSEWHERE = re.compile(r"[/~]|[A-Za-z]:|\.\./")
_STRONG = re.compile(r"\b(?:never|always|must|(?:don'?t|do not) want|prefer)\b", re.I)
_ASKS = re.compile(
    r"^(?:(?:also|and|but|ok|okay|then|please|now)[, ]+)*"
    r"(?:can|could|would|should|do|does|did|is|are|was|what|why|how|where|when|since|if|hmm?|so|or"
    r"|i think|i guess|maybe|perhaps|wait|that means|needs)\b|\b(?:right|correct)\W*$|\?$",
    re.I,
)

_LEADS = re.compile(r"^(?:(?:also|and|but|however|ok|okay|so|then)[, ]+)+", re.I)
_RULER = re.compile(r"([━─═=_.*#~-])\1{3,}")
_WONDERS = re.compile(r"^(?:(?:also|and|but|ok|okay)[, ]+)*(?:hmm?|wait|i think|i guess)\b", re.I)
"""Words of somebody who looks at something: even with a "must" they are no rule."""


class Line(msgspec.Struct, frozen=True):
    """One bullet and the events it rests on."""

    text: str
    events: tuple[int, ...] = ()

    def __str__(self) -> str:
        return f"- {self.text}{cite(*self.events)}"


class Task(msgspec.Struct, frozen=True):
    """One piece of work, ready to be written down."""

    name: str
    asked: int
    outcome: str
    grounds: str
    shown: int
    steps: tuple[Line, ...] = ()
    failures: tuple[Line, ...] = ()
    knowledge: tuple[Line, ...] = ()
    pointers: tuple[Line, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Whether nothing is known but the request."""
        return not (self.steps or self.failures or self.knowledge or self.pointers)


class Distilled(msgspec.Struct, frozen=True):
    """The two texts of a trace."""

    trace: str
    summary: str


class Worthless(msgspec.Struct, frozen=True):
    """Why a session leaves nothing."""

    reason: str


def distil(source: Source, where: str) -> Distilled | Worthless:
    """The trace of a session; `where` is one line on the place and time it ran."""
    rules = _preferences(source)
    if not (source.digest.tools or source.digest.files or rules):
        return Worthless("only talk: no tool was used and no rule was given")
    parts = parts_of(source)
    seen = _Seen()
    alone = len(parts) == 1
    tasks = [_task(part, source, seen, alone=alone) for part in _heaviest(parts)]
    told_of = [task for task in tasks if not task.is_empty]
    if not told_of and not rules:
        return Worthless("nothing was changed, verified, found out or ruled")
    left = len(parts) - len(_heaviest(parts))
    return Distilled(
        _trace(source, where, rules, told_of or tasks[:1], left), _summary(source, rules, told_of)
    )


def _heaviest(parts: Sequence[Part]) -> list[Part]:
    if len(parts) <= MAX_TASKS:
        return list(parts)
    ranked = sorted(range(len(parts)), key=lambda at: (-parts[at].weight, at))
    return [parts[at] for at in sorted(ranked[:MAX_TASKS])]


class _Seen:
    """What was written down already: the same thing is said once in a trace."""

    def __init__(self) -> None:
        self._said: list[str] = []

    def is_new(self, text: str) -> bool:
        wanted = phrase(text)
        index = PhraseIndex(phrase(said) for said in self._said[-200:])
        if index.alike(wanted):
            return False
        self._said.append(text)
        return True


def _task(part: Part, source: Source, seen: _Seen, *, alone: bool) -> Task:
    outcome, grounds, shown = outcome_of(part, source, alone=alone)
    asked = part.asked.text if part.asked is not None else source.digest.objective or ""
    name = headline(asked, _ASKED_CHARS) or headline(source.title or "", _ASKED_CHARS) or "work"
    return Task(
        name=name,
        asked=(part.asked.event or 0) if part.asked is not None else 0,
        outcome=outcome,
        grounds=told(grounds, 200),
        shown=shown,
        steps=_steps(part.said, seen),
        failures=_troubles(part, source, seen),
        knowledge=_knowledge(part.ran, seen, source.roots),
        pointers=_pointers(part, source, asked),
    )


def _steps(said: Iterable[Observation], seen: _Seen) -> tuple[Line, ...]:
    lines: list[Line] = []
    for one in said:
        if one.type not in _STEPS or one.status in ("low_value", "retired", "superseded"):
            continue
        if one.type == "session_summary":
            text = told(answer_of(one.text), _STEP_CHARS, asks=False)
            if text.startswith("broken off after"):
                continue
            lead = "The agent reported: "
        else:
            text = told(one.text, _STEP_CHARS)
            lead = "Done: " if one.type == "completed_item" else "Decided: "
        if says_something(text) and seen.is_new(text):
            lines.append(Line(lead + text, (one.event or 0,)))
    return tuple(lines[-MAX_LINES:])


def _troubles(part: Part, source: Source, seen: _Seen) -> tuple[Line, ...]:
    lines = [
        _failure_line(failure, source)
        for failure in failures_in(part.ran, part.edited)
        if says_something(told(failure.error, 160))
        if seen.is_new(f"{failure.command} {failure.error}")
    ]
    for one in part.said:
        if one.type == "blocker" and one.status == "active" and one.origin != "tool":
            text = told(one.text, _RULE_CHARS)
            if says_something(text) and seen.is_new(text):
                lines.append(Line(f"Blocked: {text}", (one.event or 0,)))
    return tuple(lines[:MAX_LINES])


def _failure_line(failure: Failure, source: Source) -> Line:
    how = f"failed with exit {failure.exit}" if failure.exit else "failed"
    error = told(_RULER.sub(" ", failure.error), 160).rstrip(".")
    text = f"{code(failure.command)} {how}: {error}"
    if failure.by_edit:
        names = [code(short_path(path, source.roots)) for path in failure.cure.split(" and ")]
        text += f"; it worked after a change to {' and '.join(names)}"
    elif failure.cure:
        text += f"; it worked with {code(failure.cure)}"
    return Line(text, (failure.event, failure.cure_event))


def _knowledge(ran: Sequence[Ran], seen: _Seen, roots: Sequence[str]) -> tuple[Line, ...]:
    """Checks that pass here, each with how often and how it ended."""
    passed: dict[str, list[Ran]] = {}
    for one in ran:
        name = _AND.sub(" && ", _ECHO.sub("", name_of(one.run.command)))
        good = one.run.verifies and not one.run.is_error and not one.run.denied
        if good and 0 < len(name) <= _COMMAND_CHARS and not _PASSING_BY.search(name):
            passed.setdefault(name, []).append(one)
    lines: list[Line] = []
    for name, runs in passed.items():
        if not seen.is_new(f"check {name}"):
            continue
        times = sum(one.run.count for one in runs)
        ended = f"exit {runs[-1].run.exit}" if runs[-1].run.exit is not None else "by its output"
        often = f", {times} times" if times > 1 else ""
        where = next(filter(None, (place_of(one.run.command, roots) for one in runs)), "")
        here = f"passes here in {code(where)}" if where else "passes here"
        lines.append(Line(f"{code(name)} {here} ({ended}{often})", (runs[-1].event,)))
    return tuple(lines[-MAX_LINES:])


def _pointers(part: Part, source: Source, asked: str) -> tuple[Line, ...]:
    counts: dict[str, list[int]] = {}
    for edit in part.edited:
        path = short_path(edit.path, source.roots)
        if not _PASSING.search(path) and not _ELSEWHERE.match(path):
            counts.setdefault(path, []).append(edit.event)
    ranked = sorted(counts, key=lambda path: -len(counts[path]))[:MAX_LINES]
    lines = [
        Line(
            f"{code(path)}: changed here"
            + (f", {len(counts[path])} times" if len(counts[path]) > 1 else ""),
            (counts[path][-1],),
        )
        for path in ranked
    ]
    event = (part.asked.event or 0) if part.asked is not None else 0
    links = [url.rstrip(".,;:") for url in _URL.findall(asked)][:2]
    return (*lines, *(Line(f"{url}: named in the request", (event,)) for url in links))


def _preferences(source: Source) -> list[Line]:
    """Rules the user gave; what reads like a question or a thought is none."""
    lines: list[Line] = []
    seen = _Seen()
    for one in source.observations:
        if one.type != "constraint" or one.origin != "user" or one.status != "active":
            continue
        text = told(one.text, _RULE_CHARS)
        if text.endswith("…") or _WONDERS.match(text):
            continue
        if _ASKS.search(text) and not _STRONG.search(text):
            continue
        text = _LEADS.sub("", text)
        if says_something(text) and seen.is_new(text):
            lines.append(Line(f'"{text}"', (one.event or 0,)))
    return lines[-MAX_PREFERENCES:]


def _trace(source: Source, where: str, rules: list[Line], tasks: list[Task], left: int) -> str:
    digest = source.digest
    title = _title(source, 140)
    more = f"; {left} smaller requests are left out" if left else ""
    lines = [f"# {title.rstrip('.')} ({digest.outcome})", ""]
    lines += [f"Trace context: {where}{more}.", ""]
    lines += ["User preferences:", *map(str, rules)] if rules else [NO_PREFERENCES]
    for task in tasks:
        lines += ["", f"## Task: {task.name}{cite(task.asked)}"]
        lines.append(f"Outcome: {task.outcome} ({task.grounds}){cite(task.shown)}")
        groups = (task.steps, task.failures, task.knowledge, task.pointers)
        for heading, group in zip(TASK_HEADINGS, groups, strict=True):
            lines += [heading, *(map(str, group) if group else ("- none",))]
    return "\n".join(lines) + "\n"


def _title(source: Source, limit: int) -> str:
    """What a session was about: its request, unless that says less than the session's title."""
    asked = headline(source.digest.objective or "", limit)
    if len(asked) < _TELLING_CHARS and source.title:
        asked = headline(source.title, limit) or asked
    return asked or "Work without a stated request"


def _summary(source: Source, rules: list[Line], tasks: list[Task]) -> str:
    """What can be used again, most useful first, as far as the words go."""
    digest = source.digest
    title = _title(source, 120)
    said = [f"{title.rstrip('.')}: {digest.outcome}."]
    said += [f"Rule of the user: {rule.text}." for rule in rules[:2]]
    said += [f"{line.text}." for task in tasks for line in task.failures if "worked" in line.text][
        :2
    ]
    checks = [line.text.partition(" passes")[0] for task in tasks for line in task.knowledge]
    if checks:
        said.append(f"Verify with {', '.join(dict.fromkeys(checks[-3:]))}.")
    steps = [line.text.partition(": ")[2] for task in tasks for line in task.steps]
    said += steps[-1:]
    files = [line.text.partition(":")[0] for task in tasks for line in task.pointers]
    paths = [path for path in dict.fromkeys(files) if path.startswith("`")][:3]
    if paths:
        said.append(f"Changed: {', '.join(paths)}.")
    kept: list[str] = []
    for sentence in said:
        if sum(len(one.split()) for one in (*kept, sentence)) <= SUMMARY_WORDS:
            kept.append(sentence)
    return " ".join(kept)
