"""Trials of patterns as values: which run, and which sessions are given the pattern.

The hook decides the arm before any database is open; `is_given` is the same rule, so that what was
assigned follows from the log alone. A test checks that both agree.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

import msgspec


class Trial(msgspec.Struct, frozen=True, omit_defaults=True):
    """One version of a pattern that half of the sessions are given, from `started_at` on."""

    pattern_id: str
    version: int
    started_at: int
    stopped_at: int | None = None
    """None while it runs; a stopped trial keeps its data for measuring."""

    @property
    def runs(self) -> bool:
        """Whether sessions are assigned to its arms now."""
        return self.stopped_at is None


def is_given(session: str, pattern_id: str) -> bool:
    """Whether a session's arm gets the pattern; half of all sessions do, always the same ones."""
    return bool(hashlib.sha256(f"{session}\0{pattern_id}".encode()).digest()[0] & 1)


def under_trial(trials: Iterable[Trial]) -> dict[str, Trial]:
    """The trials that run, by pattern: these patterns are kept out of files agents read."""
    return {trial.pattern_id: trial for trial in trials if trial.runs}


def section_id(pattern_id: str) -> str:
    """The id of the section that gives a pattern; hooks record what they gave by it."""
    return f"pattern:{pattern_id}"
