"""The name each signal is counted under: near duplicates share one, preferably a known one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache

import msgspec

from session_memory.core.loop.patterns import (
    Mined,
    PatternStatus,
    Signal,
    pattern_id,
)
from session_memory.detect.survey import KeyCounts, error_shape
from session_memory.detect.templates import group_by_words, group_shapes

Statuses = Mapping[str, PatternStatus]
_cached_id = lru_cache(maxsize=1024)(pattern_id)  # thousands of near duplicates share one


class Loci(msgspec.Struct):
    """What may have near duplicates in any part of the evidence."""

    errors: dict[str, str] = msgspec.field(default_factory=lambda: dict[str, str]())
    """Locus to pattern."""
    corrections: dict[str, str] = msgspec.field(default_factory=lambda: dict[str, str]())
    cures: dict[str, set[str]] = msgspec.field(default_factory=lambda: dict[str, set[str]]())
    """Of cures that are rules: locus to the patterns that worked."""

    def add(self, mined: Mined, counts: KeyCounts | None = None) -> None:
        """Add those of a session; with `counts`, only what may recur."""
        errors = self.errors
        for signal in mined.signals:
            kind = signal.type
            if kind == "recurring_error":
                if signal.locus not in errors and (
                    counts is None or counts.keeps_error(signal.locus)
                ):
                    errors[signal.locus] = signal.pattern
            elif kind == "user_correction":
                self.corrections[signal.locus] = signal.pattern
            elif (
                kind == "cure"
                and signal.rule
                and signal.count
                and (counts is None or counts.keeps(mined.repo, signal))
            ):
                self.cures.setdefault(signal.locus, set()).add(signal.pattern)

    def join(self, other: Loci) -> None:
        """Add those of another part."""
        self.errors |= other.errors
        self.corrections |= other.corrections
        for locus, patterns in other.cures.items():
            self.cures.setdefault(locus, set()).update(patterns)


class Names(msgspec.Struct):
    """Names of what has near duplicates; everything else keeps its own."""

    errors: dict[str, str] = msgspec.field(default_factory=lambda: dict[str, str]())
    """Locus to locus."""
    corrections: dict[str, str] = msgspec.field(default_factory=lambda: dict[str, str]())
    cures: dict[str, str] = msgspec.field(default_factory=lambda: dict[str, str]())
    """Of cures that are rules: locus to pattern; one change may help against many errors."""
    cured: dict[str, str] = msgspec.field(default_factory=lambda: dict[str, str]())
    """The same, by each of their patterns."""

    def place(self, signal: Signal) -> tuple[str, str, str]:
        """The pattern, locus and problem that a signal is counted under."""
        locus, about = signal.locus, signal.about
        if signal.type == "cure" and signal.rule and (name := self.cures.get(locus)):
            return name, locus, ""
        if about:
            renamed = self.errors.get(about)
            pattern = signal.pattern if renamed is None else pattern_id(signal.type, locus, renamed)
            return self.cured.get(pattern, pattern), locus, renamed or about
        names = self.corrections if signal.type == "user_correction" else self.errors
        if signal.type not in ("recurring_error", "user_correction"):
            return signal.pattern, locus, ""
        renamed = names.get(locus)
        if renamed is None or renamed == locus:
            return signal.pattern, locus, ""
        return _cached_id(signal.type, renamed), renamed, ""


def find_loci(evidence: Iterable[Mined], counts: KeyCounts | None = None) -> Loci:
    """What may have near duplicates; with `counts`, only what may recur."""
    loci = Loci()
    for mined in evidence:
        loci.add(mined, counts)
    return loci


def find_names(loci: Loci, statuses: Statuses) -> Names:
    """The names of everything that has near duplicates."""
    by_shape: dict[tuple[str, ...], list[str]] = {}
    for locus in loci.errors:
        by_shape.setdefault(error_shape(locus), []).append(locus)
    errors = [group.members for group in group_shapes(by_shape)]
    cures = {
        locus: known_first(sorted(patterns), statuses) for locus, patterns in loci.cures.items()
    }
    return Names(
        errors=_common_loci(errors, loci.errors, statuses),
        corrections=_common_loci(group_by_words(loci.corrections), loci.corrections, statuses),
        cures=cures,
        cured={name: cures[locus] for locus, names in loci.cures.items() for name in names},
    )


def known_first(patterns: Iterable[str], statuses: Statuses) -> str:
    """The id that many signals go by: one decided on, else one that is known, else the first."""
    return min(
        patterns,
        key=lambda name: (statuses.get(name) in (None, "candidate"), name not in statuses),
    )


def _common_loci(
    groups: list[list[str]], patterns: Mapping[str, str], statuses: Statuses
) -> dict[str, str]:
    """Locus to the locus it is counted under, for those that have near duplicates."""

    def precedence(locus: str) -> tuple[bool, bool, str]:
        status = statuses.get(patterns[locus])
        return status in (None, "candidate"), status is None, locus

    common: dict[str, str] = {}
    for members in groups:
        if len(members) > 1:
            common.update(dict.fromkeys(members, min(members, key=precedence)))
    return common
