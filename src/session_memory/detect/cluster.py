"""Signals of many sessions folded into what recurs: by type and locus, near duplicates joined."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

import msgspec

from session_memory.core.patterns import (
    Candidate,
    Mined,
    PatternStatus,
    Signal,
    SignalType,
    pattern_id,
)
from session_memory.detect.tally import Session, Tally
from session_memory.detect.templates import joined, shape
from session_memory.detect.wordings import alike

SHARE = 0.5
"""One session fills at most this share of the bar, however often something happened in it."""

Evidence = Callable[[], Iterable[Mined]]


def reaches(candidate: Candidate, bar: int) -> bool:
    """Whether there is enough evidence when no session fills more than its share of the bar."""
    cap = max(1, int(bar * SHARE))
    return bar <= sum(min(count, cap) * sessions for count, sessions in candidate.spread.items())


def cluster(
    evidence: Evidence, bar: int, known: Mapping[str, PatternStatus] | None = None
) -> list[Candidate]:
    """Candidates whose capped evidence reaches the bar, unranked, in order of their ids.

    `known` are patterns named before: of near duplicates the known one, and first of all the one
    that was decided on, keeps its name.
    """
    known = known or {}
    fold = Fold()
    for mined in evidence():
        fold.add(mined)
    found = (
        tally.candidate(fold.sessions)
        for tally in fold.named(known)
        if bar < 2 or len(tally.counts) > 1  # one session alone never reaches a bar above one
    )
    kept = [
        msgspec.structs.replace(one, status=known.get(one.id, "candidate"))
        for one in found
        if one.frequency and reaches(one, bar)
    ]
    return sorted(_without_checks(kept), key=lambda one: one.id)


def _without_checks(found: list[Candidate]) -> Iterator[Candidate]:
    """All but checks that fail no more often than they pass: it is the code that failed them."""
    passes = {one.locus: one.sessions for one in found if one.type == "verified_recipe"}
    for one in found:
        undecided = one.type == "failing_command" and one.status == "candidate"
        if not (undecided and one.sessions <= passes.get(one.locus, 0)):
            yield one


class Fold:
    """Signals counted in one go, the newest session first.

    Errors of the same shape, and the cures of such, are counted together from the start: there are
    thousands of each. What else is nearly the same is joined in the end, when all is known.
    """

    def __init__(self) -> None:
        self.sessions: dict[int, Session] = {}
        self._by_pattern: dict[str, Tally] = {}
        self._tallies: dict[object, Tally] = {}
        self._shapes: dict[str, tuple[str, ...]] = {}  # of every error

    def add(self, mined: Mined) -> None:
        """Count what a session shows."""
        self.sessions.setdefault(mined.counts_as, (mined.flavor, mined.repo))
        by_pattern = self._by_pattern
        for signal in mined.signals:
            tally = by_pattern.get(signal.pattern)
            if tally is None:
                tally = self._tally(signal)
            tally.add(mined, signal)

    def _tally(self, signal: Signal) -> Tally:
        key = self._key(signal)
        tally = self._tallies.get(key)
        if tally is None:
            tally = self._tallies[key] = Tally(signal)
        if signal.count:  # what was tried in vain is no occurrence of its pattern
            self._by_pattern[signal.pattern] = tally
            tally.patterns.append(signal.pattern)
        return tally

    def _key(self, signal: Signal) -> object:
        """What is the same for all signals that are sure to count under one name."""
        if signal.type == "recurring_error":
            words = self._shapes[signal.locus] = shape(signal.locus, masked=True)
            return words
        if words := self._shapes.get(signal.about):
            return signal.type, signal.locus, words
        return signal.pattern

    def named(self, known: Mapping[str, PatternStatus]) -> Iterable[Tally]:
        """The tallies under the names they go by."""
        errors, corrections = self._errors(known), self._corrections(known)
        found: dict[str, Tally] = {}
        for tally in self._tallies.values():
            locus, about = tally.locus, errors.get(tally.about, tally.about)
            if tally.type == "recurring_error":
                locus = errors.get(locus, locus)
            elif tally.type == "user_correction":
                locus = corrections.get(locus, locus)
            if (locus, about) != (tally.locus, tally.about):
                tally.rename(locus, about)
            first = found.setdefault(tally.pattern, tally)
            if first is not tally:
                first.join(tally)
        return found.values()

    def _errors(self, known: Mapping[str, PatternStatus]) -> dict[str, str]:
        same: dict[tuple[str, ...], list[str]] = {}
        for locus, words in self._shapes.items():
            same.setdefault(words, []).append(locus)
        return _chosen("recurring_error", [one.members for one in joined(same)], known)

    def _corrections(self, known: Mapping[str, PatternStatus]) -> dict[str, str]:
        said = [one.locus for one in self._tallies.values() if one.type == "user_correction"]
        return _chosen("user_correction", alike(said), known)


def _chosen(
    signal_type: SignalType, groups: list[list[str]], known: Mapping[str, PatternStatus]
) -> dict[str, str]:
    """Locus to the one it is counted under, for those that have near duplicates."""

    def precedence(locus: str) -> tuple[bool, bool, str]:
        status = known.get(pattern_id(signal_type, locus))
        return status in (None, "candidate"), status is None, locus

    chosen: dict[str, str] = {}
    for members in groups:
        if len(members) > 1:
            chosen.update(dict.fromkeys(members, min(members, key=precedence)))
    return chosen
