"""What worked after an error, where the very same error was met; else the one most like it."""

from __future__ import annotations

import re
from collections.abc import Iterable

import msgspec

from session_memory.core.loop.patterns import Cure, Mined, Quote, Signal
from session_memory.core.text.masks import error_line, mask
from session_memory.detect.cures import EDIT
from session_memory.detect.loci import error_locus
from session_memory.detect.mine import mine
from session_memory.detect.rank import surest
from session_memory.detect.templates import similarity, tokens
from session_memory.store.loop import Patterns

MAX_CURES = 5
_MAX_QUOTES = 20
_ALIKE = 0.7
"""Share of equal words from which on an error counts as one in other words."""
_PROBLEMS = ("recurring_error", "missing_tool", "wrong_directory", "failing_command")
# A flag, a path, a name in code: where these differ it is another error.
_NAMES_A_THING = re.compile(r"[-_./:=]|\d|[a-z][A-Z]")


class Fix(msgspec.Struct, frozen=True):
    """What helped against an error before; without cures it was met and never cured."""

    problem: str
    """The locus the error was recognised as."""
    cures: tuple[Cure, ...]
    frequency: int = 0
    sessions: int = 0
    exact: bool = True
    """False where it is another error of the same shape."""


class _Met(msgspec.Struct):
    """What is known of one problem so far."""

    times: int = 0
    sessions: set[int] = msgspec.field(default_factory=set)
    cures: dict[str, list[tuple[Mined, Signal]]] = msgspec.field(default_factory=dict)


def fix(patterns: Patterns, text: str) -> Fix | None:
    """What worked after this error; without cures the one most like it, None if none is like it."""
    mine(patterns)
    line = error_line(text) or text
    wanted = error_locus(line, mask(line))[1] or mask(line)
    problems = _problems(patterns.evidence())
    likeness, name = (1.0, wanted) if wanted in problems else _nearest(wanted, problems)
    if likeness < _ALIKE:
        return None
    met, exact = problems[name], name == wanted
    # What helped against a similar error is wrong too often to be offered.
    cures = sorted(map(_cure, met.cures.values()), key=surest)[:MAX_CURES] if exact else []
    return Fix(name, tuple(cures), met.times, len(met.sessions), exact)


def _problems(evidence: Iterable[Mined]) -> dict[str, _Met]:
    problems: dict[str, _Met] = {}
    for mined in evidence:
        for signal in mined.signals:
            if signal.type == "cure":
                met = problems.setdefault(signal.about, _Met())
                met.cures.setdefault(signal.locus, []).append((mined, signal))
            elif signal.type in _PROBLEMS:
                met = problems.setdefault(signal.locus, _Met())
                met.times += signal.count
            else:
                continue
            met.sessions.add(mined.counts_as)
    return problems


def _cure(seen: list[tuple[Mined, Signal]]) -> Cure:
    """A cure as it was last typed, with every session in which it worked."""
    quotes = [
        Quote(mined.external_id, mined.flavor, signal.seq, signal.quote, signal.at)
        for mined, signal in seen
        if signal.count
    ]
    first = seen[0][1]
    return Cure(
        first.pattern,
        quotes[0].text if quotes else first.locus,
        len({mined.counts_as for mined, signal in seen if signal.count}),
        len({mined.counts_as for mined, _ in seen}),
        tuple(sorted({mined.flavor for mined, _ in seen})),
        "edit" if first.locus.startswith(EDIT) else "command",
        tuple(quotes[:_MAX_QUOTES]),
    )


def _nearest(wanted: str, problems: Iterable[str]) -> tuple[float, str]:
    words = tokens(wanted)
    alike = (
        (similarity(tokens(other), words), other)
        for other in sorted(problems)
        if _is_same_thing(tokens(other), words)
    )
    return max(alike, default=(0.0, ""))


def _is_same_thing(one: tuple[str, ...], other: tuple[str, ...]) -> bool:
    return len(one) == len(other) and not any(
        a != b and (_NAMES_A_THING.search(a) or _NAMES_A_THING.search(b))
        for a, b in zip(one, other, strict=True)
    )
