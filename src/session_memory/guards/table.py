"""The table of guards that the hook reads: which guards there are, and in which projects. Pure."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from session_memory.core.loop.guards import Check, Choice, Guard, mode_for
from session_memory.core.text.safe_text import one_line
from session_memory.file_names import text_to_name
from session_memory.guards.derive import derive

VERSION = 2
EDITS, READS = "*edits", "*reads"
FILE = "guards.json"
"""The table, next to the hook file."""
TEXT_CHARS = 300


class Rule(msgspec.Struct, frozen=True):
    """An approved rule in the words that agents are given, and where it holds."""

    id: str
    text: str
    repos: frozenset[str]
    on_trial: bool = False


def check_of(rule: Rule, choice: Choice | None) -> Check | None:
    """How a rule is checked: as its user chose, else by its words; None if it cannot be."""
    return (choice and choice.check) or derive(rule.text)


def guard_of(rule: Rule, choice: Choice | None) -> Guard | None:
    """The guard of a rule; None where it has none, or where it is switched off."""
    check, mode = check_of(rule, choice), mode_for(choice, rule.text)
    if check is None or mode is None:
        return None
    return Guard(rule.id, mode, said(rule), check.when, check.cures, rule.on_trial)


def said(rule: Rule) -> str:
    """The one line that a guard says: the approved words, and where to ask why."""
    text = one_line(rule.text)
    text = text if len(text) <= TEXT_CHARS else text[: TEXT_CHARS - 1].rstrip() + "…"
    return f"{text} [sm-{rule.id}; why: `session-memory rules explain sm-{rule.id}`]"


def compile_guards(rules: Iterable[Rule], choices: Mapping[str, Choice]) -> dict[str, Guard]:
    """The guards of rules, by the id of each."""
    made = {rule.id: guard_of(rule, choices.get(rule.id)) for rule in rules}
    return {name: guard for name, guard in made.items() if guard is not None}


def encode_table(guards: Sequence[Guard], places: Mapping[str, Iterable[str]]) -> bytes:
    """The table as its file holds it; `places` maps a place to the rules that hold there.

    The first line says where each guard holds and which calls concern it; every other line is a
    guard, so that the hook reads only those that a call concerns. The whole is one JSON object.
    """
    numbers = {guard.id: at for at, guard in enumerate(guards)}
    here = {
        place_name(place): sorted(numbers[name] for name in names if name in numbers)
        for place, names in places.items()
    }
    concerns: dict[str, list[int]] = {}
    for at, guard in enumerate(guards):
        for name in sorted(concerns_of(guard)):
            concerns.setdefault(name, []).append(at)
    head = {"v": VERSION, "places": {k: v for k, v in here.items() if v}, "concerns": concerns}
    rows = b",\n".join(msgspec.json.encode(guard) for guard in guards)
    return msgspec.json.encode(head)[:-1] + b',"guards":[\n' + rows + b"\n]}\n"


def concerns_of(guard: Guard) -> set[str]:
    """What a call must do to concern a guard: run these first words, or change or read a file.

    The names are the hook's (`Call.concerns` in hooks/entry.py).
    """
    kind, commands = guard.when.kind, (guard.when, *guard.cures)
    runs = {
        " ".join((command.starts or command.words)[:2])
        for command in commands
        if command.kind == "run"
    }
    edits = {"edit": {EDITS}, "check": {EDITS}, "unread": {EDITS, READS}, "push": {"git push"}}
    return runs | edits.get(kind, set())


def place_name(place: str) -> str:
    """A directory or repository as the hook asks for it; the same hash as an injection page's."""
    return hashlib.sha256(text_to_name(place).encode("utf-8", "surrogateescape")).hexdigest()
