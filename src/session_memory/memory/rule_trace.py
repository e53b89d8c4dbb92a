"""Traces without a model: from a session's digest, observations and the events they cite.

Only what the session shows is written, each line with its event; what is left out for length is
counted. A session with nothing worth keeping gives a reason instead of a trace.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

import msgspec

from session_memory.core.commands import normalized, steps
from session_memory.core.digest import first_request, proven_outcome
from session_memory.core.schema import Cure, Observation
from session_memory.core.text.similarity import PhraseIndex, phrase
from session_memory.core.typed_commands import directory_of, short_path, typed_command
from session_memory.distil.lasting import is_editor_call, is_meant_to_last, names_its_subject
from session_memory.memory.orders import is_order, is_plain_name, own_words
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
_STEPS: tuple[str, ...] = ("session_summary", "completed_item", "decision")
_URL = re.compile(r"https?://[^\s<>()\"'`]{8,200}")
_TEMPORARY = re.compile(r"(?:^|/)(?:tmp|temp|scratchpad|node_modules|\.git|plans)/|/private/", re.I)
_ONE_OFF = re.compile(r"git stash|/tmp/|--version|[\"'$]|\bsleep\b")
"""Parts of a check that was made up on the spot and is not worth repeating."""
_AND = re.compile(r"\s*&&\s*")
_ECHO = re.compile(r" && (?:echo|ls|pwd)\b[^&]*")
_OUTSIDE = re.compile(r"[/~]|[A-Za-z]:|\.\./")

_RULER = re.compile(r"([━─═=_.*#~-])\1{3,}")


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
        if says_something(text) and not is_order(text) and written.is_new(text):
            lines.append(Line(lead + text, (observation.event or 0,)))
    return tuple(lines[-MAX_LINES:])


def _failures(task: SessionTask, source: TraceSource, written: _WrittenLines) -> tuple[Line, ...]:
    """What failed and was put right, checks that failed to the end, and what blocked the work."""
    events = {event.seq: event.id for event in source.events}
    lines = [
        _cure_line(cure, source, events)
        for cure in task.cures
        if can_be_named(cure) and written.is_new(f"{typed_command(cure.failed)} {cure.error}")
    ]
    last_runs = {_name_of(ran.run.command): ran for ran in task.ran if ran.run.is_check}
    for name, ran in last_runs.items():
        if ran.run.is_error and not ran.run.denied and ran.error is not None:
            error = gist(_RULER.sub(" ", ran.error.sample), 160).rstrip(".")
            if 0 < len(name) <= _COMMAND_CHARS and written.is_new(f"{name} {error}"):
                error_text = "" if is_order(error) else f": {error}"
                text = f"{code(typed_command(ran.run.command))} failed{error_text}"
                lines.append(Line(text, (ran.result or ran.event,)))
    for observation in task.observations:
        if observation.type != "blocker" or observation.status != "active":
            continue
        if observation.origin != "tool":
            text = gist(observation.text, _RULE_CHARS)
            if says_something(text) and written.is_new(text):
                lines.append(Line(f"Blocked: {text}", (observation.event or 0,)))
    return tuple(lines[:MAX_LINES])


def can_be_named(cure: Cure) -> bool:
    """Not a call of an editor, which every agent repeats by itself, nor a whole script."""
    is_command = bool(steps(cure.failed)) and not is_editor_call(cure.failed)
    short = len(typed_command(cure.failed)) <= _COMMAND_CHARS and "\n" not in cure.failed.strip()
    return is_command and short and bool(cure.sample and cure.steps)


def _cure_line(cure: Cure, source: TraceSource, events: dict[int, int]) -> Line:
    step = cure.step_seqs[-1] if cure.step_seqs else cure.proof_seq
    text = cure_text(cure, source.roots)
    return Line(text, (events.get(cure.error_seq, 0), events.get(step, 0)))


def cure_text(cure: Cure, roots: Sequence[str]) -> str:
    """What failed, what it said, and what worked."""
    error = gist(_RULER.sub(" ", cure.sample), 160).rstrip(".")
    error_text = "" if is_order(error) else f": {error}"
    text = f"{code(typed_command(cure.failed))} failed{error_text}"
    if cure.kind == "edit":
        paths = [step.partition(" ")[2].partition(" ")[0] for step in cure.steps[-2:]]
        files = " and ".join(code(short_path(path, roots)) for path in paths if path)
        return text + (f"; it worked after a change to {files}" if files else "; an edit cured it")
    directory = directory_of(cure.steps[-1], roots)
    where = f" in {code(directory)}" if directory else ""
    return f"{text}; it worked with {code(typed_command(cure.steps[-1]))}{where}"


def _name_of(command: str) -> str:
    """A command on one line, without directories, pagers and wrappers, to compare with others."""
    return " ".join(normalized(command).split())


def _knowledge(
    ran: Sequence[Ran], written: _WrittenLines, roots: Sequence[str]
) -> tuple[Line, ...]:
    """Checks that pass here, each with how often it ran and how it ended."""
    passed: dict[str, list[Ran]] = {}
    for command in ran:
        run = command.run
        name = _AND.sub(" && ", _ECHO.sub("", _name_of(run.command)))
        passes = run.is_check and not run.is_error and not run.denied
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
        if not (_TEMPORARY.search(path) or _OUTSIDE.match(path)) and is_plain_name(path):
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
    """What the user said firmly, or about how to work in general."""
    events = {event.seq: event.id for event in source.events}
    lines: list[Line] = []
    written = _WrittenLines()
    for rule in source.digest.rules:
        text = gist(rule.text, _RULE_CHARS)
        lasting = rule.firm or rule.intent is not None or is_meant_to_last(rule.text)
        if lasting and says_something(text) and written.is_new(text):
            lines.append(Line(f'"{text}"', (events.get(rule.seq, 0),)))
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
    """What a session was about: the first of its requests that says so, or its given title."""
    requests = [
        observation.text
        for observation in source.observations
        if observation.type == "user_request" and observation.status == "active"
    ]
    request_texts = map(own_words, (first_request(source.digest.objective or ""), *requests))
    titles = [headline(text, limit) for text in (*request_texts, source.title or "")]
    titles = [title for title in titles if title and not is_order(title)]
    telling = next(filter(names_its_subject, titles), "")
    return telling or next(iter(titles), "Work without a stated request")


_SAID_BY_TOOL = re.compile(r" failed: .*?; it worked", re.S)
"""What a tool says of a failure belongs to the trace, where its event is cited."""
_NO_WORD = re.compile(r"\W+")
_BEGINNING = 40


def _said_by_agent(text: str, source: TraceSource) -> bool:
    """Whether an answer of the agent holds it: output of tools and other agents says much else."""
    words = _NO_WORD.sub(" ", text)[:_BEGINNING].strip().casefold()
    return any(
        event.kind == "assistant_text" and words in _NO_WORD.sub(" ", event.text or "").casefold()
        for event in source.events
    )


def _summary(source: TraceSource, rules: list[Line], tasks: list[Task]) -> str:
    """What can be used again, most useful first, up to the limit of words."""
    title = _title(source, 120)
    sentences = [f"{title.rstrip('.')}: {proven_outcome(source.digest)}."]
    sentences += [f"Rule of the user: {rule.text}." for rule in rules[:2]]
    failures = [line.text for task in tasks for line in task.failures]
    cured = [text for text in failures if "; it worked" in text]
    sentences += [f"{_SAID_BY_TOOL.sub(' failed; it worked', text)}." for text in cured][:2]
    checks = [line.text.partition(" passes")[0] for task in tasks for line in task.knowledge]
    if checks:
        sentences.append(f"Verify with {', '.join(dict.fromkeys(checks[-3:]))}.")
    steps = [line.text.partition(": ")[2] for task in tasks for line in task.steps]
    sentences += [step for step in steps if _said_by_agent(step, source)][-1:]
    files = [line.text.partition(":")[0] for task in tasks for line in task.pointers]
    paths = [path for path in dict.fromkeys(files) if path.startswith("`")][:3]
    if paths:
        sentences.append(f"Changed: {', '.join(paths)}.")
    chosen: list[str] = []
    for sentence in sentences:
        if sum(len(text.split()) for text in (*chosen, sentence)) <= SUMMARY_WORDS:
            chosen.append(sentence)
    return " ".join(chosen)
