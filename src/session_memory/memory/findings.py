"""What the traces of a project say together, by use: commands, failures, rules, open work."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

import msgspec

from session_memory.core.text.masks import mask
from session_memory.core.text.similarity import Phrase, phrase, same_thing
from session_memory.distil.checks import check_of
from session_memory.distil.rule_wording import read_wording
from session_memory.memory.statements import Statement, combine, merge_same, ranked, statement_of
from session_memory.memory.trace_parser import Bullet, ParsedTrace, SectionName, TraceTask

MAX_COMMANDS = 10
MAX_FAILURES = 10
MAX_RULES = 12
MAX_DECISIONS = 8
MAX_FACTS = 10
MAX_OPEN = 6
MAX_DONE = 6
MAX_FILES = 8
_MAX_SAME_CHECK = 2  # commands that verify the same; more of them are variants
_RECENT = 4
"""How many of the newest traces can have open work: older work was finished or given up."""

_PASSES = re.compile(r"^(?P<code>`[^`]+`) passes here(?: in `(?P<directory>[^`]+)`)?")
_FAILS = re.compile(r"^(?P<code>`[^`]+`) failed(?: with exit -?\d+)?: (?P<error>.*)$", re.S)
_CURED = re.compile(r"; it worked (?:with|after) (?P<cure>.+)$", re.S)
_CHANGED = re.compile(r"^(?P<code>`[^`]+`): changed here(?:, (?P<times>\d+) times)?")
_FIXES = re.compile(r"(?:^|[\s:-])fix\b|--write\b|--apply\b")
_NAMES_FILE = re.compile(r"\.\w{1,5}(?:\s|$)|\s-(?:run|k|t|o)\s|::")
_NAMES_LINE = re.compile(r"[\w)]\.\w{1,5}[:(]\d+|\berror [A-Z]{1,4}\d+|^\S*\d+:\d+")
"""An error that names a line of code: it disappeared with the change that caused it."""
_TRANSIENT = re.compile(
    r"fetch first|non-fast-forward|could not apply|conflict|failed to push|sibling tool call"
    r"|no agent running|timed? ?out|interrupted|unmerged",
    re.I,
)
_EMPTY_PHRASES = re.compile(
    r"(?:^|(?<=[.!] ))(?:[^.!`]*\btests? (?:now )?pass(?:es|ed|ing)?\b[^.!`]*"
    r"|(?:Committed|Pushed|Merged|Summary|Perfect|Yes)\b[^.!`]{0,40})[.!:]\s*"
)
"""Sentences of an agent's report that say nothing about what was changed."""
_REPORTED = "The agent reported: "
_WORDS = {"test": "tests", "build": "build", "lint": "lint", "types": "types"}


class Command(msgspec.Struct, frozen=True):
    """A command that worked, what it verifies, and where."""

    command: str
    verifies: str
    statement: Statement
    directory: str = ""
    """Where it was run, relative to the project root."""
    fixes: bool = False
    """It changes files itself, so that its success verifies nothing."""


class Findings(msgspec.Struct, frozen=True):
    """Everything a memory is written from."""

    commands: tuple[Command, ...] = ()
    failures: tuple[Statement, ...] = ()
    rules: tuple[Statement, ...] = ()
    decisions: tuple[Statement, ...] = ()
    facts: tuple[Statement, ...] = ()
    open: tuple[Statement, ...] = ()
    done: tuple[Statement, ...] = ()
    files: tuple[Statement, ...] = ()


class _Source(msgspec.Struct, frozen=True):
    """A bullet, and the trace and task it is from."""

    trace: ParsedTrace
    task: TraceTask
    bullet: Bullet

    def statement(self, text: str | None = None) -> Statement:
        return statement_of(self.bullet, self.trace, self.task.outcome, text)


def find_all(traces: Sequence[ParsedTrace]) -> Findings:
    """What traces, newest first, say together."""
    failures = list(_bullets(traces, "failures"))
    return Findings(
        commands=tuple(_commands(traces, failures)[:MAX_COMMANDS]),
        failures=tuple(_failures(failures)[:MAX_FAILURES]),
        rules=tuple(_rules(traces)[:MAX_RULES]),
        decisions=tuple(merge_same(_decisions(traces))[:MAX_DECISIONS]),
        facts=tuple(ranked(merge_same(_facts(traces)))[:MAX_FACTS]),
        open=tuple(_open_work(traces)[:MAX_OPEN]),
        done=tuple(merge_same(_done_work(traces))[:MAX_DONE]),
        files=tuple(_files(traces)[:MAX_FILES]),
    )


def _bullets(traces: Iterable[ParsedTrace], section: SectionName) -> Iterable[_Source]:
    for trace in traces:
        for task in trace.tasks:
            for bullet in task.bullets(section):
                yield _Source(trace, task, bullet)


def _commands(traces: Sequence[ParsedTrace], failures: Sequence[_Source]) -> list[Command]:
    """Commands that passed, those of most sessions first."""
    by_name: dict[str, Statement] = {}
    directories: dict[str, str] = {}
    for source in _bullets(traces, "knowledge"):
        match = _PASSES.match(source.bullet.text)
        if match is None:
            continue
        name = match["code"].strip("`")
        # It did pass, however the task around it ended.
        statement = statement_of(source.bullet, source.trace, "success", name)
        by_name[name] = combine(by_name[name], statement) if name in by_name else statement
        directories.setdefault(name, match["directory"] or "")
    statements = ranked([_with_doubt(statement, failures) for statement in by_name.values()])
    return _without_variants(
        [
            Command(
                statement.text,
                _verifies(statement.text),
                statement,
                directories[statement.text],
                bool(_FIXES.search(statement.text)),
            )
            for statement in statements
        ]
    )


def _without_variants(commands: Sequence[Command]) -> list[Command]:
    """Without commands of one session that check a part of what another command checks."""
    frequent = [command for command in commands if len(command.statement.threads) > 1]
    broad = {command.verifies for command in commands if not _NAMES_FILE.search(command.command)}
    kept: list[Command] = list(frequent)
    for command in commands:
        if command in frequent or command.command.startswith("which "):
            continue
        narrow = command.verifies in broad and _NAMES_FILE.search(command.command)
        variant = any(other.command in command.command for other in frequent)
        same_check = sum(command.verifies == other.verifies for other in kept)
        if not (narrow or variant) and same_check < _MAX_SAME_CHECK:
            kept.append(command)
    return sorted(kept, key=lambda command: (len(command.statement.threads) < 2, command.fixes))


def _with_doubt(statement: Statement, failures: Sequence[_Source]) -> Statement:
    """A command with a note if it failed later and was not cured."""
    for source in failures:
        text = source.bullet.text
        match = _FAILS.match(text)
        if match is None or match["code"].strip("`") != statement.text or _CURED.search(text):
            continue
        if source.trace.at > statement.at:
            note = f"verify: it failed since, in {source.trace.thread[:8]}"
            return msgspec.structs.replace(statement, note=note)
    return statement


def _verifies(command: str) -> str:
    check = check_of(command)
    return " and ".join(_WORDS[kind] for kind in check.kinds) if check is not None else ""


def _failures(failures: Sequence[_Source]) -> list[Statement]:
    """Failures with their cures; without a cure only if they recurred."""
    by_error: dict[tuple[str, str], list[Statement]] = {}
    others: list[Statement] = []
    for source in failures:
        if source.bullet.text.startswith("Blocked: "):
            continue
        match = _FAILS.match(source.bullet.text)
        statement = source.statement()
        if match is None:
            others.append(statement)
            continue
        program = match["code"].strip("`").split()[0]
        key = (program, mask(_CURED.sub("", match["error"])))
        by_error.setdefault(key, []).append(statement)
    merged = [_merge_failures(same) for same in by_error.values()]
    return ranked([*filter(_can_recur, _merge_by_cure(merged)), *merge_same(others)])


def _merge_by_cure(failures: Sequence[Statement]) -> list[Statement]:
    """One statement for different errors of a command that the same command cured."""
    groups: dict[tuple[str, str], list[Statement]] = {}
    for failure in failures:
        code = failure.text.partition(" failed")[0]
        cure = _curing_command(failure.text)
        groups.setdefault((code, cure or failure.text), []).append(failure)
    return [_merge_failures(same) for same in groups.values()]


def _curing_command(text: str) -> str:
    """The first words of the command that cured a failure; "" if no command did."""
    cured = _CURED.search(text)
    if cured is None or " after a change to " in cured[0]:
        return ""
    return " ".join(cured["cure"].strip("`").split()[:3])


def _can_recur(failure: Statement) -> bool:
    """Whether a failure can happen again: not if it disappeared with the change behind it."""
    if _TRANSIENT.search(failure.text) or " --help" in failure.text.partition(" failed")[0]:
        return False
    if len(failure.threads) > 1:
        return True
    cured = _CURED.search(failure.text)
    if cured is None:
        return False
    by_edit = "it worked after a change to" in cured[0]
    error = _CURED.sub("", failure.text.partition("failed")[2])
    return not (by_edit and _NAMES_LINE.search(error))


def _merge_failures(same: Sequence[Statement]) -> Statement:
    """The newest failure with a cure, preferably by a command, with the traces of all."""
    newest = sorted(same, key=lambda failure: -failure.at)
    cured = [failure for failure in newest if _CURED.search(failure.text)]
    by_command = [failure for failure in cured if _curing_command(failure.text)]
    best = next(iter(by_command or cured or newest))
    threads = tuple(dict.fromkeys(thread for failure in newest for thread in failure.threads))
    return msgspec.structs.replace(
        best,
        threads=threads,
        strength=max(failure.strength for failure in same),
        at=newest[0].at,
    )


def _rules(traces: Sequence[ParsedTrace]) -> list[Statement]:
    """What the user asked for in several sessions, or once and firmly; newest first.

    A wish that is neither is about its own task, however much it sounds like a rule.
    """
    said = merge_same(
        statement_of(rule, trace, trace.outcome) for trace in traces for rule in trace.rules
    )
    return [rule for rule in said if len(rule.threads) > 1 or _is_firm(rule.text)]


def _is_firm(text: str) -> bool:
    wording = read_wording(text.strip('" '), "later")
    return wording is not None and wording.firm


def _decisions(traces: Sequence[ParsedTrace]) -> Iterable[Statement]:
    for source in _bullets(traces, "steps"):
        if source.bullet.text.startswith("Decided: "):
            yield source.statement(source.bullet.text.removeprefix("Decided: "))


def _facts(traces: Sequence[ParsedTrace]) -> Iterable[Statement]:
    """Knowledge in free text, as models write it."""
    for source in _bullets(traces, "knowledge"):
        if _PASSES.match(source.bullet.text) is None:
            yield source.statement()


def _done_work(traces: Sequence[ParsedTrace]) -> Iterable[Statement]:
    """What the last verified task of each trace changed, in the agent's own words."""
    for trace in traces:
        verified = [
            task for task in trace.tasks if task.outcome == "success" and task.bullets("pointers")
        ]
        for task in verified[-1:]:
            steps = task.bullets("steps")
            reports = [bullet for bullet in steps if bullet.text.startswith(_REPORTED)]
            for report in reports[-1:]:
                text = _EMPTY_PHRASES.sub("", report.text.removeprefix(_REPORTED)).strip()
                if text:
                    yield statement_of(report, trace, task.outcome, text)


def _open_work(traces: Sequence[ParsedTrace]) -> list[Statement]:
    """What the newest sessions left unfinished or blocked, unless a later one finished it."""
    statements: list[Statement] = []
    done: list[Phrase] = []
    for trace in traces[:_RECENT]:
        last = trace.tasks[-1] if trace.tasks else None
        if last is not None and last.outcome in ("partial", "fail"):
            statements += _unfinished(trace, last, done)
        statements += [
            statement_of(bullet, trace, "partial", bullet.text.removeprefix("Blocked: "))
            for bullet in (last.bullets("failures") if last is not None else ())
            if bullet.text.startswith("Blocked: ")
        ]
        done += [phrase(task.name) for task in trace.tasks if task.outcome == "success"]
    return merge_same(statements)


def _unfinished(trace: ParsedTrace, task: TraceTask, done: Sequence[Phrase]) -> list[Statement]:
    if any(same_thing(phrase(task.name), other) for other in done):
        return []
    why = f" ({task.outcome}: {task.grounds})" if task.grounds else f" ({task.outcome})"
    name = task.name if task.name[:1].isalnum() else trace.title
    bullet = Bullet(f"{name}{why}", (task.event,) if task.event else ())
    return [statement_of(bullet, trace, task.outcome)]


def _files(traces: Sequence[ParsedTrace]) -> list[Statement]:
    """Files by how many sessions changed them."""
    by_path: dict[str, Statement] = {}
    times: dict[str, int] = {}
    for source in _bullets(traces, "pointers"):
        match = _CHANGED.match(source.bullet.text)
        if match is None:
            continue
        path = match["code"]
        statement = source.statement(path)
        by_path[path] = combine(by_path[path], statement) if path in by_path else statement
        times[path] = times.get(path, 0) + int(match["times"] or 1)
    order = sorted(by_path, key=lambda path: (-len(by_path[path].threads), -times[path], path))
    frequent = [path for path in order if len(by_path[path].threads) > 1]
    return [by_path[path] for path in (frequent or order[:3])]
