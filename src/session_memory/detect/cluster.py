"""Signals of many sessions folded into what recurs: by type and locus, near duplicates joined."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

import msgspec

from session_memory.core.loop.patterns import (
    Candidate,
    Mined,
    PatternStatus,
    Signal,
    SignalType,
    pattern_id,
)
from session_memory.detect.tally import First, Session, Tally, started
from session_memory.detect.templates import joined, shape
from session_memory.detect.wordings import alike

Evidence = Callable[[], Iterable[Mined]]


def cluster(
    evidence: Evidence,
    known: Mapping[str, PatternStatus] | None = None,
    *,
    single_sessions: bool = False,
) -> list[Candidate]:
    """What recurs: candidates that at least two sessions show, unranked, in order of their ids.

    With `single_sessions`, what only one session shows is a candidate too. `known` are patterns
    named before: of near duplicates the known one, and first of all the one that was decided on,
    keeps its name.
    """
    known = known or {}
    fold = Fold()
    for mined in evidence():
        fold.add(mined)
    least = 1 if single_sessions else 2
    found = (
        tally.candidate(fold.sessions)
        for tally in fold.named(known, lone=single_sessions)
        if len(tally.counts) >= least
    )
    kept = [
        msgspec.structs.replace(one, status=known.get(one.id, "candidate"))
        for one in found
        if one.sessions >= least
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
    thousands of each. What else is nearly the same is joined in the end, when all is known. Most
    of what sessions show is shown once: it is kept as it came until there is more to count.
    """

    def __init__(self) -> None:
        self.sessions: dict[int, Session] = {}
        self._by_pattern: dict[str, Tally] = {}
        self._kept: dict[object, Tally | First] = {}
        self._shapes: dict[str, tuple[str, ...]] = {}  # of every error

    def add(self, mined: Mined) -> None:
        """Count what a session shows."""
        self.sessions.setdefault(mined.counts_as, (mined.flavor, mined.repo))
        by_pattern = self._by_pattern
        alone = None  # the session without its signals, of which most are soon done with
        for signal in mined.signals:
            tally = by_pattern.get(signal.pattern)
            if tally is not None:
                tally.add(mined, signal)
            else:
                alone = alone or msgspec.structs.replace(mined, signals=())
                self._open(alone, signal)

    def _open(self, mined: Mined, signal: Signal) -> None:
        key = self._key(signal)
        kept = self._kept.get(key)
        if kept is None:
            self._kept[key] = mined, signal
            return
        if isinstance(kept, tuple):
            first, kept = kept[1], started(kept)
            self._kept[key] = kept
            if first.count:
                self._by_pattern[first.pattern] = kept
        if signal.count:  # what was tried in vain is no occurrence of its pattern
            self._by_pattern[signal.pattern] = kept
            kept.patterns.append(signal.pattern)
        kept.add(mined, signal)

    def _key(self, signal: Signal) -> object:
        """What is the same for all signals that are sure to count under one name."""
        if signal.type == "recurring_error":
            words = self._shapes[signal.locus] = shape(signal.locus, masked=True)
            return words
        if words := self._shapes.get(signal.about):
            return signal.type, signal.locus, words
        return signal.pattern

    def named(self, known: Mapping[str, PatternStatus], *, lone: bool) -> Iterable[Tally]:
        """The tallies under the names they go by, with those of a single signal if wanted."""
        errors, corrections = self._errors(known), self._corrections(known)
        found: dict[str, Tally] = {}
        alone: dict[str, First] = {}
        for kept in self._kept.values():
            one = kept[1] if isinstance(kept, tuple) else kept
            chosen = None
            if one.about or one.type == "recurring_error":  # a cure is renamed with its error
                chosen = errors.get(one.about or one.locus)
            elif one.type == "user_correction":
                chosen = corrections.get(one.locus)
            if isinstance(kept, tuple):
                if chosen is None and alone.setdefault(kept[1].pattern, kept) is kept:
                    continue
                kept = started(kept)
            if chosen is not None:
                kept.rename(chosen)
            same = found.setdefault(kept.pattern, kept)
            if same is not kept:
                same.join(kept)
        for pattern, first in alone.items():
            if pattern in found:
                found[pattern].join(started(first))
            elif lone:
                found[pattern] = started(first)
        return found.values()

    def _errors(self, known: Mapping[str, PatternStatus]) -> dict[str, str]:
        same: dict[tuple[str, ...], list[str]] = {}
        for locus, words in self._shapes.items():
            same.setdefault(words, []).append(locus)
        return _chosen("recurring_error", [one.members for one in joined(same)], known)

    def _corrections(self, known: Mapping[str, PatternStatus]) -> dict[str, str]:
        kept = (one[1] if isinstance(one, tuple) else one for one in self._kept.values())
        said = [one.locus for one in kept if one.type == "user_correction"]
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
