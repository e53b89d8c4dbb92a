"""Signals of many sessions counted, in one pass, into totals that add up in any order."""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from operator import attrgetter
from typing import Any, cast

import msgspec

from session_memory.core.loop.patterns import Candidate, Mined, Signal
from session_memory.detect.names import Names, Statuses, known_first
from session_memory.detect.stated import group_stated, rule_text
from session_memory.detect.survey import KeyCounts
from session_memory.detect.tally import Origin, SingleSignal, Tally, tally_of

_OWNER = attrgetter("counts_as")
_Totals = tuple[list[Tally], list[SingleSignal], dict[int, Origin]]
_unpack = msgspec.msgpack.Decoder(_Totals).decode


class Fold:
    """What a part of the evidence adds up to."""

    def __init__(self, names: Names, counts: KeyCounts | None = None) -> None:
        self._names, self._counts = names, counts
        self.tallies: dict[str, Tally] = {}
        self._by_signal: dict[str, Tally] = {}  # the tally of each signal seen before
        self.said: list[SingleSignal] = []
        self.places: dict[int, Origin] = {}  # of sessions with statements of users
        self.ended: dict[str, array[int]] = {}  # by project, the end of every session

    def __getstate__(self) -> tuple[object, ...]:
        ended = {repo: times.tobytes() for repo, times in self.ended.items()}
        totals = list(self.tallies.values()), self.said, self.places
        try:
            return msgspec.msgpack.encode(totals), ended
        except OverflowError:  # a sum beyond 64 bits: slower, and as exact
            return totals, ended

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        self.__init__(Names())  # totals travel without the names they were counted by
        totals, ended = state
        tallies, self.said, self.places = (
            _unpack(totals) if isinstance(totals, bytes) else cast("_Totals", totals)
        )
        self.tallies = {tally.pattern: tally for tally in tallies}
        self.ended = {repo: array("q", times) for repo, times in ended.items()}

    def add_all(self, evidence: Iterable[Mined]) -> None:
        """Count sessions; those that count as one follow each other."""
        for _, family in groupby(evidence, _OWNER):
            self.add(list(family))

    def add(self, family: Sequence[Mined]) -> None:
        """Count a session with its sub-agents, the newest of them first."""
        origin = family[0].flavor, family[0].repo
        shown: dict[Tally, int] = {}
        tried: set[Tally] = set()
        ended: dict[str, int] = {}
        for mined in family:
            if mined.repo and mined.at is not None and mined.signals:  # else nothing was done
                ended[mined.repo] = mined.at
            session = None  # without its signals: keeping one of them must not keep them all
            for signal in mined.signals:
                tally = self._by_signal.get(signal.pattern)
                if tally is None:
                    if not self._keeps(mined, signal):
                        continue
                    if signal.said is not None:  # its meaning depends on all statements
                        session = session or msgspec.structs.replace(mined, signals=())
                        self.said.append((session, signal))
                        self.places[mined.counts_as] = origin
                        continue
                    tally = self._tally(signal)
                tally.add(mined, signal)
                shown[tally] = shown.get(tally, 0) + signal.count
                if signal.tried:
                    tried.add(tally)
        for tally, count in shown.items():
            tally.close(count, tally in tried, origin)
        for repo, at in ended.items():
            self.ended.setdefault(repo, array("q")).append(at)

    def _keeps(self, mined: Mined, signal: Signal) -> bool:
        if self._counts is None or self._counts.keeps(mined.repo, signal):
            return True
        if signal.type == "recurring_error":
            return signal.locus in self._names.errors
        return signal.type == "user_correction" and signal.locus in self._names.corrections

    def _tally(self, signal: Signal) -> Tally:
        pattern, locus, about = self._names.place(signal)
        tally = self.tallies.get(pattern)
        if tally is None:
            tally = self.tallies[pattern] = Tally(pattern, signal.type, locus, about)
        if signal.type != "cure":  # where a cure counts depends on whether it is a rule
            self._by_signal[signal.pattern] = tally
        return tally

    def join(self, other: Fold) -> None:
        """Add another part: of other sessions, by the same names."""
        for pattern, tally in other.tallies.items():
            same = self.tallies.setdefault(pattern, tally)
            if same is not tally:
                same.join(tally)
        self.said += other.said
        self.places |= other.places
        for repo, ended in other.ended.items():
            self.ended.setdefault(repo, array("q")).extend(ended)

    def candidates(self, statuses: Statuses, least: int) -> Iterator[Candidate]:
        """Everything that enough sessions show."""
        ended = {repo: sorted(times) for repo, times in self.ended.items()}
        for tally in (*self.tallies.values(), *self._stated(statuses)):
            if tally.sessions < least:
                continue
            candidate = tally.candidate(self._names.errors)
            yield msgspec.structs.replace(
                candidate,
                status=statuses.get(candidate.id, "candidate"),
                sessions_since=_since(candidate, ended),
            )

    def _stated(self, statuses: Statuses) -> Iterator[Tally]:
        # The newest session first, and its statements in their order: which of equal texts counts,
        # and which statement speaks for others, must not depend on how the evidence was divided.
        newest_first = sorted(self.said, key=lambda single: -single[0].session)
        for group in group_stated(newest_first):
            # Its words are those of the statement it is named by: they are forgotten together.
            signals = {signal.pattern: signal for _, signal in group.said}
            named = signals[known_first(signals, statuses)]
            tally = tally_of(group.said, named, self.places)
            if group.repeated and named.said and (rule := rule_text(named.said, group.shared)):
                tally.rules = {rule: 1}
            yield tally


def _since(candidate: Candidate, ended: dict[str, list[int]]) -> int:
    """Sessions of its projects that ended after it was last seen."""
    last = candidate.last_seen
    if last is None:
        return 0
    times = [ended.get(repo, []) for repo in candidate.repos]
    return sum(len(each) - bisect_right(each, last) for each in times)
