"""What the traces of a project say together, by use: commands, failures, rules, open work."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

import msgspec

from session_memory.core.text.masks import mask
from session_memory.core.text.similarity import Phrase, phrase, same_thing
from session_memory.distil.checks import check_of
from session_memory.memory.statements import Statement, joined, once, ranked, statement
from session_memory.memory.trace_parts import Parts, Said, Task

MAX_COMMANDS = 10
MAX_FAILURES = 10
MAX_RULES = 12
MAX_DECISIONS = 8
MAX_FACTS = 10
MAX_OPEN = 6
MAX_DONE = 6
MAX_FILES = 8
_ALIKE = 2  # commands of one kind; more of them are variants
_RECENT = 4
"""How many of the newest traces can leave open work: what is older was settled or given up."""

_PASSES = re.compile(r"^(?P<code>`[^`]+`) passes here(?: in `(?P<place>[^`]+)`)?")
_FAILS = re.compile(r"^(?P<code>`[^`]+`) failed(?: with exit -?\d+)?: (?P<error>.*)$", re.S)
_CURED = re.compile(r"; it worked (?:with|after) (?P<cure>.+)$", re.S)
_CHANGED = re.compile(r"^(?P<code>`[^`]+`): changed here(?:, (?P<times>\d+) times)?")
_MENDS = re.compile(r"(?:^|[\s:-])fix\b|--write\b|--apply\b")
_NAMES_FILE = re.compile(r"\.\w{1,5}(?:\s|$)|\s-(?:run|k|t|o)\s|::")
_AT_LINE = re.compile(r"[\w)]\.\w{1,5}[:(]\d+|\berror [A-Z]{1,4}\d+|^\S*\d+:\d+")
"""An error that names a line of the code: it went with the change it was about."""
_OF_THE_MOMENT = re.compile(
    r"fetch first|non-fast-forward|could not apply|conflict|failed to push|sibling tool call"
    r"|no agent running|timed? ?out|interrupted|unmerged",
    re.I,
)
_PASSED = re.compile(
    r"(?:^|(?<=[.!] ))(?:[^.!`]*\btests? (?:now )?pass(?:es|ed|ing)?\b[^.!`]*"
    r"|(?:Committed|Pushed|Merged|Summary|Perfect|Yes)\b[^.!`]{0,40})[.!:]\s*"
)
"""Sentences of an agent's last words that tell nothing of what was changed."""
_REPORTED = "The agent reported: "
_WORDS = {"test": "tests", "build": "build", "lint": "lint", "types": "types"}


class Command(msgspec.Struct, frozen=True):
    """A command that worked, what it verifies, and where."""

    command: str
    verifies: str
    found: Statement
    place: str = ""
    """The directory it was run in, seen from where the session was."""
    mends: bool = False
    """It changes files itself: that it passes verifies nothing."""


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


def findings(traces: Sequence[Parts]) -> Findings:
    """What traces, newest first, say together."""
    failing = [pair for parts in traces for pair in _of(parts, "failures")]
    failures = _failures(failing)
    return Findings(
        tuple(_commands(traces, failing)[:MAX_COMMANDS]),
        tuple(failures[:MAX_FAILURES]),
        tuple(_rules(traces)[:MAX_RULES]),
        tuple(once(_decided(traces))[:MAX_DECISIONS]),
        tuple(ranked(once(_facts(traces)))[:MAX_FACTS]),
        tuple(_open(traces)[:MAX_OPEN]),
        tuple(once(_done(traces))[:MAX_DONE]),
        tuple(_files(traces)[:MAX_FILES]),
    )


Found = tuple[Parts, Task, Said]


def _of(parts: Parts, place: str) -> Iterable[Found]:
    for task in parts.tasks:
        for name, bullets in task.said.items():
            if name == place:
                yield from ((parts, task, said) for said in bullets)


def _commands(traces: Sequence[Parts], failing: Sequence[Found]) -> list[Command]:
    """Commands by how many sessions show that they pass, each with what it verifies."""
    by_name: dict[str, Statement] = {}
    places: dict[str, str] = {}
    for parts in traces:
        for _, _, said in _of(parts, "knowledge"):
            match = _PASSES.match(said.text)
            if match is None:
                continue
            name = match["code"].strip("`")
            # That it passed was seen, however the task around it ended.
            one = statement(said, parts, "success", name)
            by_name[name] = joined(by_name[name], one) if name in by_name else one
            places.setdefault(name, match["place"] or "")
    found = [_with_doubt(one, failing) for one in by_name.values()]
    commands = [
        Command(one.text, _verifies(one.text), one, places[one.text], bool(_MENDS.search(one.text)))
        for one in ranked(found)
    ]
    return _wide(commands)


def _wide(found: Sequence[Command]) -> list[Command]:
    """Without what was run once and for one thing, where something wider verifies the same."""
    often = [one for one in found if len(one.found.threads) > 1]
    kinds = {one.verifies for one in found if not _NAMES_FILE.search(one.command)}
    kept: list[Command] = list(often)
    for one in found:
        if one in often or one.command.startswith("which "):
            continue
        narrow = one.verifies in kinds and _NAMES_FILE.search(one.command)
        again = any(wide.command in one.command for wide in often)
        alike = sum(one.verifies == other.verifies for other in kept)
        if not (narrow or again) and alike < _ALIKE:
            kept.append(one)
    return sorted(kept, key=lambda one: (len(one.found.threads) < 2, one.mends))


def _with_doubt(one: Statement, failing: Sequence[Found]) -> Statement:
    """A command that failed since, without a cure, is kept with a note."""
    for parts, _, said in failing:
        match = _FAILS.match(said.text)
        if match is None or match["code"].strip("`") != one.text or _CURED.search(said.text):
            continue
        if parts.at > one.at:
            note = f"verify: it failed since, in {parts.thread[:8]}"
            return msgspec.structs.replace(one, note=note)
    return one


def _verifies(command: str) -> str:
    check = check_of(command)
    return " and ".join(_WORDS[kind] for kind in check.kinds) if check is not None else ""


def _failures(failing: Sequence[Found]) -> list[Statement]:
    """Failures with their cures; one without a cure only if it came back."""
    by_key: dict[tuple[str, str], list[Statement]] = {}
    other: list[Statement] = []
    for parts, task, said in failing:
        if said.text.startswith("Blocked: "):
            continue
        match = _FAILS.match(said.text)
        one = statement(said, parts, task.outcome)
        if match is None:
            other.append(one)
            continue
        key = (_program(match["code"]), mask(_CURED.sub("", match["error"])))
        by_key.setdefault(key, []).append(one)
    merged = [_one_failure(same) for same in by_key.values()]
    return ranked([*filter(_lasts, _by_cure(merged)), *once(other)])


def _program(code: str) -> str:
    return code.strip("`").split()[0]


def _by_cure(found: Sequence[Statement]) -> list[Statement]:
    """One line for what a command says in several ways and one command cures."""
    groups: dict[tuple[str, str], list[Statement]] = {}
    for one in found:
        code = one.text.partition(" failed")[0]
        cure = _cure_of(one.text)
        groups.setdefault((code, cure or one.text), []).append(one)
    return [_one_failure(same) for same in groups.values()]


def _cure_of(text: str) -> str:
    """The beginning of the command that cured something; empty where it was none."""
    cured = _CURED.search(text)
    if cured is None or " after a change to " in cured[0]:
        return ""
    return " ".join(cured["cure"].strip("`").split()[:3])


def _lasts(one: Statement) -> bool:
    """Whether a failure can happen again: not one that went with the change it was about."""
    if _OF_THE_MOMENT.search(one.text) or " --help" in one.text.partition(" failed")[0]:
        return False
    if len(one.threads) > 1:
        return True
    cured = _CURED.search(one.text)
    if cured is None:
        return False
    by_edit = "it worked after a change to" in cured[0]
    return not (by_edit and _AT_LINE.search(_CURED.sub("", one.text.partition("failed")[2])))


def _one_failure(same: Sequence[Statement]) -> Statement:
    """The newest that tells of a cure, one by a command if there is one, with all their traces."""
    newest = sorted(same, key=lambda one: -one.at)
    cured = [one for one in newest if _CURED.search(one.text)]
    best = next(iter([one for one in cured if _cure_of(one.text)] or cured or newest))
    threads = tuple(dict.fromkeys(thread for one in newest for thread in one.threads))
    return msgspec.structs.replace(
        best, threads=threads, strength=max(one.strength for one in same), at=newest[0].at
    )


def _rules(traces: Sequence[Parts]) -> list[Statement]:
    """What the user asked for, newest first; said more than once it weighs more."""
    return once(statement(said, parts, parts.outcome) for parts in traces for said in parts.rules)


def _decided(traces: Sequence[Parts]) -> Iterable[Statement]:
    for parts in traces:
        for _, task, said in _of(parts, "steps"):
            if said.text.startswith("Decided: "):
                text = said.text.removeprefix("Decided: ")
                yield statement(said, parts, task.outcome, text)


def _facts(traces: Sequence[Parts]) -> Iterable[Statement]:
    """Knowledge in free words, as models write it."""
    for parts in traces:
        for _, task, said in _of(parts, "knowledge"):
            if _PASSES.match(said.text) is None:
                yield statement(said, parts, task.outcome)


def _done(traces: Sequence[Parts]) -> Iterable[Statement]:
    """What verified work changed, in the agent's last words on it."""
    for parts in traces:
        good = [task for task in parts.tasks if task.outcome == "success" and task.of("pointers")]
        for task in good[-1:]:
            said = [one for one in task.of("steps") if one.text.startswith(_REPORTED)]
            for one in said[-1:]:
                text = _PASSED.sub("", one.text.removeprefix(_REPORTED)).strip()
                if text:
                    yield statement(one, parts, task.outcome, text)


def _open(traces: Sequence[Parts]) -> list[Statement]:
    """What the newest sessions left undone or blocked at their end, unless a later one did it."""
    found: list[Statement] = []
    done: list[Phrase] = []
    for parts in traces[:_RECENT]:
        last = parts.tasks[-1] if parts.tasks else None
        if last is not None and last.outcome in ("partial", "fail"):
            found += _left(parts, last, done)
        found += [
            statement(said, parts, "partial", said.text.removeprefix("Blocked: "))
            for said in (last.of("failures") if last is not None else ())
            if said.text.startswith("Blocked: ")
        ]
        done += [phrase(task.name) for task in parts.tasks if task.outcome == "success"]
    return once(found)


def _left(parts: Parts, task: Task, done: Sequence[Phrase]) -> list[Statement]:
    if any(same_thing(phrase(task.name), known) for known in done):
        return []
    why = f" ({task.outcome}: {task.grounds})" if task.grounds else f" ({task.outcome})"
    name = task.name if task.name[:1].isalnum() else parts.title
    said = Said(f"{name}{why}", (task.event,) if task.event else ())
    return [statement(said, parts, task.outcome)]


def _files(traces: Sequence[Parts]) -> list[Statement]:
    """Files by how many sessions changed them."""
    by_path: dict[str, Statement] = {}
    times: dict[str, int] = {}
    for parts in traces:
        for _, task, said in _of(parts, "pointers"):
            match = _CHANGED.match(said.text)
            if match is None:
                continue
            path = match["code"]
            one = statement(said, parts, task.outcome, path)
            by_path[path] = joined(by_path[path], one) if path in by_path else one
            times[path] = times.get(path, 0) + int(match["times"] or 1)
    order = sorted(by_path, key=lambda path: (-len(by_path[path].threads), -times[path], path))
    wide = [path for path in order if len(by_path[path].threads) > 1]
    return [by_path[path] for path in (wide or order[:3])]
