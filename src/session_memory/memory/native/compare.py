"""Statements that contradict each other, and those that a session is given twice.

Only what is certain by the words: a wrong finding costs more trust than ten right
ones win. So a statement that is bound to a part of the project contradicts nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations

import msgspec

from session_memory.core.commands import words
from session_memory.core.text.masks import mask_numbers
from session_memory.memory.native.statements import Statement

_LEAST_CHARS, _LEAST_WORDS = 25, 4
_WORD = re.compile(r"\w+(?:[@./+#'-]+\w+)*")
_FORBIDS = re.compile(
    r"(?:please )?(?:never|do not|don'?t|must not|should not|you must not|avoid) (?P<rest>.+)", re.I
)
_ASKS = re.compile(r"(?:please )?(?:always |you must |must |you should )?(?P<rest>.+)", re.I)
_SMALL = frozenset(("a", "an", "the", "any", "ever", "please", "just", "only", "all"))
_ACTS = words(
    "add amend ask build bump change commit create delete deploy edit enable force import install"
    " merge mock modify prefer publish push put rebase remove rename rewrite run skip squash touch"
    " update use write"
)
_CHOICE = re.compile(
    r"(?:always |please )?(?:use|prefer) `?(?P<tool>[\w+-]+(?: quotes)?)`?"
    r"(?: (?:as|for) (?:the |all |your )?(?:package manag\w+|packages|dependenc\w+|installing"
    r" (?:packages|dependencies)|python|javascript|node|indent\w+|strings))?"
    r"(?:[,;:(\u2014-]* ?(?:and )?(?:not|never|instead of|rather than|over) [^.]{1,40})?[.!)]*",
    re.I,
)
_FAMILIES = (
    frozenset(("npm", "pnpm", "yarn", "bun")),
    frozenset(("pip", "uv", "poetry", "pipenv", "conda")),
    frozenset(("tabs", "spaces")),
    frozenset(("single quotes", "double quotes")),
)
_MEASURE = re.compile(
    r"line length|characters (?:per|a) line|line width|columns|indent|\bnode(?:\.js)?\b|\bpython\b"
    r"|coverage",
    re.I,
)
_NUMBER = re.compile(r"\d+(?:\.\d+)*")
_PART = re.compile(
    r"\b(?:in|for|inside|under|within|when|unless|except|if|only|on|during|while|before|after)\b",
    re.I,
)
_GENERAL = re.compile(
    r"\b(?:general|rules?|conventions?|commands?|style|setup|workflow|tooling|tools|development"
    r"|guidelines?|instructions?|code|coding|packages?|test|testing|tests|project|notes?|build"
    r"|memor\w+|preferences|git|commits?|important|overview|basics|dependencies|formatting)\b",
    re.I,
)


class Pair(msgspec.Struct, frozen=True):
    """Two statements, the one that comes first in the order of files and lines first."""

    first: Statement
    second: Statement
    why: str


def duplicates(statements: Iterable[Statement]) -> list[Pair]:
    """The same words twice in what one agent is given in every session."""
    by_words: dict[str, list[Statement]] = {}
    for statement in statements:
        said_words = _words(statement.text)
        if statement.file.always and not statement.is_code and len(said_words) >= _LEAST_WORDS:
            key = " ".join(said_words)
            if len(key) >= _LEAST_CHARS:
                by_words.setdefault(key, []).append(statement)
    pairs: list[Pair] = []
    for group in by_words.values():
        for number, statement in enumerate(group[1:], 1):
            earlier = next(
                (each for each in group[:number] if _share_reader(each, statement)), None
            )
            if earlier is not None:
                pairs.append(Pair(earlier, statement, "the same words twice"))
    return pairs


def _share_reader(first: Statement, second: Statement) -> bool:
    return not set(first.file.agents).isdisjoint(second.file.agents)


def contradictions(statements: Iterable[Statement]) -> list[Pair]:
    """What cannot both be followed."""
    general = [
        statement
        for statement in statements
        if statement.file.always and not statement.is_code and _is_general(statement)
    ]
    return [*_opposed(general), *_choices(general), *_measures(general)]


def _is_general(statement: Statement) -> bool:
    """Whether a statement stands under no heading that binds it to a part of the project."""
    return not statement.heading or _GENERAL.search(statement.heading) is not None


def _words(text: str) -> list[str]:
    return [word.lower() for word in _WORD.findall(text.replace("\u2019", "'"))]


def _act(text: str) -> tuple[str, ...]:
    """The words of an order without those that add nothing; () where it is none."""
    act = [word for word in _words(text) if word not in _SMALL]
    if act and act[0].endswith("ing"):
        stem = act[0][:-3]
        act[0] = stem if stem in _ACTS else f"{stem}e"
    return tuple(act) if len(act) >= 2 and act[0] in _ACTS else ()


def _opposed(statements: Sequence[Statement]) -> Iterator[Pair]:
    """`never X` together with `X`."""
    required: dict[tuple[str, ...], Statement] = {}
    forbidden: dict[tuple[str, ...], Statement] = {}
    for statement in statements:
        text = statement.text.strip().rstrip(".!")
        match = _FORBIDS.fullmatch(text)
        act = _act(match["rest"]) if match else ()
        if act:
            forbidden.setdefault(act, statement)
        elif match is None and (asks := _ASKS.fullmatch(text)) and (act := _act(asks["rest"])):
            required.setdefault(act, statement)
    for act, statement in forbidden.items():
        if act in required:
            yield _ordered(required[act], statement, "one forbids what the other asks for")


def _choices(statements: Sequence[Statement]) -> Iterator[Pair]:
    """Two tools of which a project has one."""
    chosen: list[tuple[frozenset[str], str, Statement]] = []
    for statement in statements:
        match = _CHOICE.fullmatch(statement.text.strip())
        tool = match["tool"].lower() if match else ""
        family = next((family for family in _FAMILIES if tool in family), None)
        if family is not None:
            chosen.append((family, tool, statement))
    for (family, tool, statement), (other_family, other, other_statement) in combinations(
        chosen, 2
    ):
        if family is other_family and tool != other:
            first, second = sorted((tool, other))
            yield _ordered(statement, other_statement, f"one wants {first}, the other {second}")


def _measures(statements: Sequence[Statement]) -> Iterator[Pair]:
    """The same sentence with another number."""
    by_words: dict[str, Statement] = {}
    for statement in statements:
        numbers = _NUMBER.findall(statement.text)
        if len(numbers) != 1 or not _MEASURE.search(statement.text) or _PART.search(statement.text):
            continue
        key = " ".join(_words(mask_numbers(statement.text)))
        earlier = by_words.setdefault(key, statement)
        if _NUMBER.findall(earlier.text) != numbers:
            yield _ordered(earlier, statement, "the same with another number")


def _ordered(statement: Statement, other: Statement, why: str) -> Pair:
    first, second = sorted((statement, other), key=lambda each: (each.file.name, each.line))
    return Pair(first, second, why)
