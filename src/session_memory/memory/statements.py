"""Merges what several traces say: the newer wording wins, conflicts are resolved or marked."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

import msgspec

from session_memory.core.schema import Outcome
from session_memory.core.text.similarity import Phrase, PhraseIndex, phrase, same_thing
from session_memory.memory.trace_parser import Bullet, ParsedTrace

STRENGTH: dict[Outcome, int] = {"success": 3, "partial": 2, "fail": 1, "uncertain": 0}
"""How much the evidence of a task counts: verified success counts most."""
_NEGATION = re.compile(r"\b(?:not|no|never|don'?t|do not|without|avoid|stop|instead of)\b", re.I)
_MAX_EVENTS = 2


class Statement(msgspec.Struct, frozen=True):
    """One thing to remember, and the traces it comes from, newest first."""

    text: str
    threads: tuple[str, ...]
    events: tuple[int, ...] = ()
    strength: int = 0
    at: int = 0
    note: str = ""
    """What to verify before relying on it; of one that is left out, why."""
    key: str = ""
    """What it is about, whatever the wording and the counts of the day; "" means its text."""


def statement_of(
    bullet: Bullet, trace: ParsedTrace, outcome: Outcome, text: str | None = None
) -> Statement:
    """The statement of a trace's bullet, or of another text with the same evidence."""
    events = bullet.events[:_MAX_EVENTS]
    return Statement(text or bullet.text, (trace.thread,), events, STRENGTH[outcome], trace.at)


def combine(first: Statement, second: Statement) -> Statement:
    """Two statements of the same thing: the wording of the newer one, the traces of both."""
    newer, older = (first, second) if first.at >= second.at else (second, first)
    return msgspec.structs.replace(
        newer,
        threads=tuple(dict.fromkeys((*newer.threads, *older.threads))),
        events=newer.events or older.events,
        strength=max(newer.strength, older.strength),
    )


def merge_same(statements: Iterable[Statement]) -> list[Statement]:
    """Each thing once, newest first, with contradictions resolved."""
    merged: list[Statement] = []
    for statement in sorted(statements, key=lambda statement: -statement.at):
        index = PhraseIndex(phrase(other.text) for other in merged)
        alike = index.alike(phrase(statement.text))
        if alike:
            merged[alike[0]] = combine(merged[alike[0]], statement)
        else:
            merged.append(statement)
    return resolve_conflicts(merged)


def resolve_conflicts(statements: Sequence[Statement]) -> list[Statement]:
    """Of two contradicting statements the newer stays, and an older one if it is stronger."""
    resolved: list[Statement] = []
    for statement in statements:  # newest first
        conflicts = (i for i, other in enumerate(resolved) if contradict(statement, other))
        position = next(conflicts, None)
        if position is None:
            resolved.append(statement)
            continue
        newer = resolved[position]
        if statement.strength > newer.strength:
            note = "verify: the next line disagrees"
            resolved[position] = msgspec.structs.replace(newer, note=note)
            note = "verify: older, but with stronger evidence"
            resolved.insert(position + 1, msgspec.structs.replace(statement, note=note))
    return resolved


def contradict(first: Statement, second: Statement) -> bool:
    """Whether two statements say the same thing and only one of them negates it."""
    if bool(_NEGATION.search(first.text)) == bool(_NEGATION.search(second.text)):
        return False
    return same_thing(_affirmed(first.text), _affirmed(second.text))


def _affirmed(text: str) -> Phrase:
    return phrase(_NEGATION.sub(" ", text))


def ranked(statements: Iterable[Statement]) -> list[Statement]:
    """Most useful first: in more sessions, with stronger evidence, newer."""
    return sorted(
        statements,
        key=lambda statement: (
            -len(statement.threads),
            -statement.strength,
            -statement.at,
            statement.text,
        ),
    )
