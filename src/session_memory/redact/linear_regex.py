"""RE2 with types: regular expressions over bytes that match in linear time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Protocol, cast

import re2  # pyright: ignore[reportMissingTypeStubs]

# A DFA that outgrows this starts over: slower, with the same answer. It is far above what the table
# needs: a set without room for even a few states would answer "nothing found".
MAX_MEM = 64 * 1024 * 1024

_re2 = cast(Any, re2)


class Match(Protocol):
    """One match; a group that did not match has the span (-1, -1)."""

    def span(self, group: int = 0) -> tuple[int, int]: ...


class Pattern(Protocol):
    """One compiled expression."""

    groups: int

    def finditer(self, text: bytes) -> Iterator[Match]: ...


class PatternSet(Protocol):
    """Many expressions in one automaton: one pass finds which of them match."""

    def Match(self, text: bytes) -> list[int] | None: ...  # noqa: N802 (RE2's own name)


class BadPatternError(ValueError):
    """RE2 cannot compile the expression: it is invalid, or needs more than linear time."""


def _options() -> Any:
    options = _re2.Options()
    options.max_mem = MAX_MEM
    options.log_errors = False
    options.never_nl = False
    # Latin-1 means byte by byte, so text that is not UTF-8 is matched like any other.
    options.encoding = _re2.Options.Encoding.LATIN1
    return options


def compile_pattern(pattern: bytes) -> Pattern:
    """Compile one expression (RE2 syntax)."""
    try:
        return _re2.compile(pattern, _options())
    except _re2.error as error:
        reason = error.args[0] if error.args else ""
        text = reason.decode("utf-8", "replace") if isinstance(reason, bytes) else str(reason)
        raise BadPatternError(text) from error


def compile_set(patterns: Iterable[bytes]) -> PatternSet:
    """Compile expressions into one set; `Match` gives the indexes of those that match."""
    patterns_set = _re2.Set.SearchSet(_options())
    for pattern in patterns:
        patterns_set.Add(pattern)
    patterns_set.Compile()
    return patterns_set


def literal(text: str, *, exact: bool = False) -> bytes:
    """An expression that finds `text`, ignoring case unless `exact`."""
    escaped = cast(bytes, _re2.escape(text.encode()))
    return escaped if exact else b"(?i)" + escaped
