"""Traces without a model: from a session's digest, observations and the events they cite.

Only what the session shows is written, each line with its event; what is left out for length is
counted. A session with nothing worth keeping gives a reason instead of a trace.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

import msgspec

from session_memory.core.digest import first_request, proven_outcome
from session_memory.core.schema import Observation
from session_memory.core.text.similarity import PhraseIndex, phrase
from session_memory.core.typed_commands import directory_of, short_path
from session_memory.memory.failures import Failure, command_name, find_failures
from session_memory.memory.tasks import (
    Ran,
    SessionTask,
    TaskOutcome,
    TraceSource,
    outcome_of,
    split_tasks,
)
from session_memory.memory.trace_text import NO_PREFERENCES, TASK_HEADINGS
from session_memory.memory.wording import (
    answer_of,
    cite,
    code,
    gist,
    headline,
    says_something,
)

MAX_TASKS = 8
MAX_LINES = 6
MAX_PREFERENCES = 10
SUMMARY_WORDS = 100
_REQUEST_CHARS = 90
_STEP_CHARS = 300
_RULE_CHARS = 240
_COMMAND_CHARS = 100
_TITLE_CHARS = 30  # a shorter request such as "analyse this one" is no title
_STEPS: tuple[str, ...] = ("session_summary", "completed_item", "decision")
_URL = re.compile(r"https?://[^\s<>()\"'`]{8,200}")
_TEMPORARY = re.compile(r"(?:^|/)(?:tmp|temp|scratchpad|node_modules|\.git|plans)/|/private/", re.I)
_ONE_OFF = re.compile(r"git stash|/tmp/|--version|[\"'$]|\bsleep\b")
"""Parts of a check that was made up on the spot and is not worth repeating."""
_AND = re.compile(r"\s*&&\s*")
_ECHO = re.compile(r" && (?:echo|ls|pwd)\b[^&]*")
_OUTSIDE = re.compile(r"[/~]|[A-Za-z]:|\.\./")
_STRONG = re.compile(r"\b(?:never|always|must|(?:don'?t|do not) want|prefer)\b", re.I)
_ASKS = re.compile(
    r"^(?:(?:also|and|but|ok|okay|then|please|now)[, ]+)*"
    r"(?:can|could|would|should|do|does|did|is|are|was|what|why|how|where|when|since|if|hmm?|so|or"
    r"|i think|i guess|maybe|perhaps|wait|that means|needs)\b|\b(?:right|correct)\W*$|\?$",
    re.I,
)

_LEAD_IN = re.compile(r"^(?:(?:also|and|but|however|ok|okay|so|then)[, ]+)+", re.I)
_RULER = re.compile(r"([━─═=_.*#~-])\1{3,}")
_WONDERS = re.compile(r"^(?:(?:also|and|but|ok|okay)[, ]+)*(?:hmm?|wait|i think|i guess)\b", re.I)
"""Thinking aloud is not a rule, even if it says "must"."""


class Line(msgspec.Struct, frozen=True):
    """One bullet and the events it cites."""

    text: str
    events: tuple[int, ...] = ()

    def __str__(self) -> str:
        return f"- {self.text}{cite(*self.events)}"


class Task(msgspec.Struct, frozen=True):
    """One task, ready to be written down."""

    name: str
    request_event: int
    outcome: TaskOutcome
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


class NoTrace(msgspec.Struct, frozen=True):
    """Why a session gives no trace."""

    reason: str


def distil(source: TraceSource, where: str) -> Distilled | NoTrace:
    """The trace of a session; `where` is one line on where and when it ran."""
    rules = _preferences(source)
    if not (source.digest.tools or source.digest.files or rules):
        return NoTrace("only talk: no tool was used and no rule was given")
    session_tasks = split_tasks(source)
    heaviest = _heaviest(session_tasks)
    written = _WrittenLines()
    alone = len(session_tasks) == 1
    all_tasks = [_task(task, source, written, alone=alone) for task in heaviest]
    tasks = [task for task in all_tasks if not task.is_empty]
    if not tasks and not rules:
        return NoTrace("nothing was changed, verified, found out or ruled")
    left_out = len(session_tasks) - len(heaviest)
    return Distilled(
        _trace(source, where, rules, tasks or all_tasks[:1], left_out),
        _summary(source, rules, tasks),
    )


def _heaviest(tasks: Sequence[SessionTask]) -> list[SessionTask]:
    """The tasks in which most happened, in their order."""
    if len(tasks) <= MAX_TASKS:
        return list(tasks)
    by_weight = sorted(range(len(tasks)), key=lambda number: (-tasks[number].weight, number))
    return [tasks[number] for number in sorted(by_weight[:MAX_TASKS])]


class _WrittenLines:
    """What a trace says so far, so that it says nothing twice."""

    def __init__(self) -> None:
        self._texts: list[str] = []

    def is_new(self, text: str) -> bool:
        """Whether nothing similar was added yet; if so, adds the text."""
        index = PhraseIndex(phrase(other) for other in self._texts[-200:])
        if index.alike(phrase(text)):
            return False
        self._texts.append(text)
        return True


def _task(task: SessionTask, source: TraceSource, written: _WrittenLines, *, alone: bool) -> Task:
    outcome = outcome_of(task, source, alone=alone)
    request = task.request.text if task.request is not None else ""
    request = request or first_request(source.digest.objective or "")
    title = headline(source.title or "", _REQUEST_CHARS)
    return Task(
        name=headline(request, _REQUEST_CHARS) or title or "work",
        request_event=(task.request.event or 0) if task.request is not None else 0,
        outcome=msgspec.structs.replace(outcome, grounds=gist(outcome.grounds, 200)),
        steps=_steps(task.observations, written),
        failures=_failures(task, source, written),
        knowledge=_knowledge(task.ran, written, source.roots),
        pointers=_pointers(task, source, request),
    )


def _steps(observations: Iterable[Observation], written: _WrittenLines) -> tuple[Line, ...]:
    lines: list[Line] = []
    for observation in observations:
        if observation.type not in _STEPS:
            continue
        if observation.status in ("low_value", "retired", "superseded"):
            continue
        if observation.type == "session_summary":
            text = gist(answer_of(observation.text), _STEP_CHARS, questions=False)
            if text.startswith("broken off after"):
                continue
            lead = "The agent reported: "
        else:
            text = gist(observation.text, _STEP_CHARS)
            lead = "Done: " if observation.type == "completed_item" else "Decided: "
        if says_something(text) and written.is_new(text):
            lines.append(Line(lead + text, (observation.event or 0,)))
    return tuple(lines[-MAX_LINES:])


def _failures(task: SessionTask, source: TraceSource, written: _WrittenLines) -> tuple[Line, ...]:
    lines = [
        _failure_line(failure, source)
        for failure in find_failures(task.ran, task.edits)
        if says_something(gist(failure.error, 160))
        if written.is_new(f"{failure.command} {failure.error}")
    ]
    for observation in task.observations:
        if observation.type != "blocker" or observation.status != "active":
            continue
        if observation.origin != "tool":
            text = gist(observation.text, _RULE_CHARS)
            if says_something(text) and written.is_new(text):
                lines.append(Line(f"Blocked: {text}", (observation.event or 0,)))
    return tuple(lines[:MAX_LINES])


def _failure_line(failure: Failure, source: TraceSource) -> Line:
    how = f"failed with exit {failure.exit}" if failure.exit else "failed"
    error = gist(_RULER.sub(" ", failure.error), 160).rstrip(".")
    text = f"{code(failure.command)} {how}: {error}"
    if failure.by_edit:
        names = [code(short_path(path, source.roots)) for path in failure.cure.split(" and ")]
        text += f"; it worked after a change to {' and '.join(names)}"
    elif failure.cure:
        text += f"; it worked with {code(failure.cure)}"
    return Line(text, (failure.event, failure.cure_event))


def _knowledge(
    ran: Sequence[Ran], written: _WrittenLines, roots: Sequence[str]
) -> tuple[Line, ...]:
    """Checks that pass here, each with how often it ran and how it ended."""
    passed: dict[str, list[Ran]] = {}
    for command in ran:
        run = command.run
        name = _AND.sub(" && ", _ECHO.sub("", command_name(run.command)))
        passes = run.verifies and not run.is_error and not run.denied
        if passes and 0 < len(name) <= _COMMAND_CHARS and not _ONE_OFF.search(name):
            passed.setdefault(name, []).append(command)
    lines: list[Line] = []
    for name, commands in passed.items():
        if not written.is_new(f"check {name}"):
            continue
        last = commands[-1]
        times = sum(command.run.count for command in commands)
        ended = f"exit {last.run.exit}" if last.run.exit is not None else "by its output"
        often = f", {times} times" if times > 1 else ""
        directories = (directory_of(command.run.command, roots) for command in commands)
        directory = next(filter(None, directories), "")
        here = f"passes here in {code(directory)}" if directory else "passes here"
        lines.append(Line(f"{code(name)} {here} ({ended}{often})", (last.event,)))
    return tuple(lines[-MAX_LINES:])


def _pointers(task: SessionTask, source: TraceSource, request: str) -> tuple[Line, ...]:
    """Files of the project by how often they were changed, and links in the request."""
    events: dict[str, list[int]] = {}
    for edit in task.edits:
        path = short_path(edit.path, source.roots)
        if not _TEMPORARY.search(path) and not _OUTSIDE.match(path):
            events.setdefault(path, []).append(edit.event)
    most_changed = sorted(events, key=lambda path: -len(events[path]))[:MAX_LINES]
    lines = [
        Line(
            f"{code(path)}: changed here"
            + (f", {len(events[path])} times" if len(events[path]) > 1 else ""),
            (events[path][-1],),
        )
        for path in most_changed
    ]
    event = (task.request.event or 0) if task.request is not None else 0
    links = [url.rstrip(".,;:") for url in _URL.findall(request)][:2]
    return (*lines, *(Line(f"{url}: named in the request", (event,)) for url in links))


def _preferences(source: TraceSource) -> list[Line]:
    """Rules the user gave, without what reads like a question or a thought."""
    lines: list[Line] = []
    written = _WrittenLines()
    for observation in source.observations:
        if observation.type != "constraint" or observation.origin != "user":
            continue
        if observation.status != "active":
            continue
        text = gist(observation.text, _RULE_CHARS)
        if text.endswith("…") or _WONDERS.match(text):
            continue
        if _ASKS.search(text) and not _STRONG.search(text):
            continue
        text = _LEAD_IN.sub("", text)
        if says_something(text) and written.is_new(text):
            lines.append(Line(f'"{text}"', (observation.event or 0,)))
    return lines[-MAX_PREFERENCES:]


def _trace(
    source: TraceSource, where: str, rules: list[Line], tasks: list[Task], left_out: int
) -> str:
    title = _title(source, 140)
    more = f"; {left_out} smaller requests are left out" if left_out else ""
    lines = [f"# {title.rstrip('.')} ({proven_outcome(source.digest)})", ""]
    lines += [f"Trace context: {where}{more}.", ""]
    lines += ["User preferences:", *map(str, rules)] if rules else [NO_PREFERENCES]
    for task in tasks:
        outcome = task.outcome
        lines += ["", f"## Task: {task.name}{cite(task.request_event)}"]
        lines.append(f"Outcome: {outcome.outcome} ({outcome.grounds}){cite(outcome.event)}")
        groups = (task.steps, task.failures, task.knowledge, task.pointers)
        for heading, group in zip(TASK_HEADINGS, groups, strict=True):
            lines += [heading, *(map(str, group) if group else ("- none",))]
    return "\n".join(lines) + "\n"


def _title(source: TraceSource, limit: int) -> str:
    """What a session was about: its request, or its title if the request is too short."""
    title = headline(first_request(source.digest.objective or ""), limit)
    if len(title) < _TITLE_CHARS and source.title:
        title = headline(source.title, limit) or title
    return title or "Work without a stated request"


def _summary(source: TraceSource, rules: list[Line], tasks: list[Task]) -> str:
    """What can be used again, most useful first, up to the limit of words."""
    title = _title(source, 120)
    sentences = [f"{title.rstrip('.')}: {proven_outcome(source.digest)}."]
    sentences += [f"Rule of the user: {rule.text}." for rule in rules[:2]]
    failures = [line.text for task in tasks for line in task.failures]
    sentences += [f"{text}." for text in failures if "worked" in text][:2]
    checks = [line.text.partition(" passes")[0] for task in tasks for line in task.knowledge]
    if checks:
        sentences.append(f"Verify with {', '.join(dict.fromkeys(checks[-3:]))}.")
    steps = [line.text.partition(": ")[2] for task in tasks for line in task.steps]
    sentences += steps[-1:]
    files = [line.text.partition(":")[0] for task in tasks for line in task.pointers]
    paths = [path for path in dict.fromkeys(files) if path.startswith("`")][:3]
    if paths:
        sentences.append(f"Changed: {', '.join(paths)}.")
    kept: list[str] = []
    for sentence in sentences:
        if sum(len(text.split()) for text in (*kept, sentence)) <= SUMMARY_WORDS:
            kept.append(sentence)
    return " ".join(kept)
