"""Statements about a session, and the rules by which several of them become one.

Files arrive in any order and in pieces, so nothing is overwritten on arrival: each file keeps its
winner per name, and the session's own fields are derived from the winners of all its files.
"""

from __future__ import annotations

from typing import Literal

import msgspec

FactRule = Literal["first", "last", "min", "max", "set"]
FACT_RULES: dict[str, FactRule] = {
    "cwd": "first",
    "opened_at": "first",
    "source_kind": "first",
    "entrypoint": "first",
    "forked_from": "first",
    "parent": "first",
    "stand_in": "first",
    "commit": "first",
    "git_root": "first",
    "remote": "first",
    "root_hash": "first",
    "branch": "last",
    "client_version": "last",
    "client_version.first": "first",
    "title.custom": "last",
    "title.ai": "last",
    "title.summary": "last",
    "label": "last",
    "started_at": "min",
    "ended_at": "max",
    "model": "set",
    "pr": "set",
    "mentions": "first",
    "missing_part": "set",
    "time_source": "last",
}
"""`first` and `last` go by place in the files, never by clock: agents write times out of order.

A file that says `stand_in` only repeats what the session's own log says, and counts while there is
none: `parent` is the log of a sub-agent's parent, `history` a poorer form of the conversation,
`excerpt` a form poorer than that. `time_source` says `file` where a log holds no times, and the
session has those of its file.
"""

STAND_IN_RANKS = {"parent": 1, "history": 1, "excerpt": 2}
"""Of several files that repeat a session, those of the lowest rank count."""


class Fact(msgspec.Struct, frozen=True):
    """One statement; `pos` is the byte position of the record that made it."""

    name: str
    value: str | int
    pos: int


class RankedFact(msgspec.Struct, frozen=True):
    """A file's winner, with the rank of the file among the session's files."""

    rank: str
    pos: int
    name: str
    value: str | int


def settle(facts: list[RankedFact]) -> dict[str, str | int | list[str | int]]:
    """One value per name; names with rule `set` give a sorted list."""
    settled: dict[str, str | int | list[str | int]] = {}
    by_name: dict[str, list[RankedFact]] = {}
    for fact in facts:
        by_name.setdefault(fact.name, []).append(fact)
    for name, group in by_name.items():
        match FACT_RULES.get(name, "last"):
            case "first":
                settled[name] = min(group, key=_place).value
            case "last":
                settled[name] = max(group, key=_place).value
            case "min":
                settled[name] = min(fact.value for fact in group)  # type: ignore[type-var]
            case "max":
                settled[name] = max(fact.value for fact in group)  # type: ignore[type-var]
            case "set":
                settled[name] = sorted({fact.value for fact in group}, key=str)
    return settled


def _place(fact: RankedFact) -> tuple[str, int]:
    return (fact.rank, fact.pos)
