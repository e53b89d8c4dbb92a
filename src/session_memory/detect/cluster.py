"""Signals of many sessions counted into candidates: by type and locus, near duplicates joined."""

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
from session_memory.detect.loci import command_locus
from session_memory.detect.stated import group_stated, rule_text
from session_memory.detect.tally import FlavorAndRepo, SingleSignal, Tally, start_tally
from session_memory.detect.templates import group_by_words, group_shapes, shape

Evidence = Callable[[], Iterable[Mined]]


def cluster(
    evidence: Evidence,
    statuses: Mapping[str, PatternStatus] | None = None,
    *,
    single_sessions: bool = False,
) -> list[Candidate]:
    """Candidates that at least two sessions show, unranked, in order of their ids.

    With `single_sessions`, what only one session shows is a candidate too. `statuses` are those of
    patterns named before: of near duplicates the known one keeps its name, and first of all the one
    that was decided on.
    """
    statuses = statuses or {}
    counter = SignalCounter()
    for mined in evidence():
        counter.add(mined)
    least = 1 if single_sessions else 2
    candidates = (
        tally.candidate(counter.sessions)
        for tally in counter.tallies(statuses, single_signals=single_sessions)
        if len(tally.counts) >= least
    )
    recurring = [
        msgspec.structs.replace(
            candidate,
            status=statuses.get(candidate.id, "candidate"),
            sessions_since=counter.sessions_since(candidate),
        )
        for candidate in candidates
        if candidate.sessions >= least
    ]
    return sorted(_without_checks(recurring), key=lambda candidate: candidate.id)


def _without_checks(candidates: list[Candidate]) -> Iterator[Candidate]:
    """All but checks that fail no more often than they pass: the code failed them."""
    passes: dict[str, int] = {}
    for check in candidates:
        if check.type == "verified_recipe":
            name = command_locus(check.locus.partition(" in ")[0])
            passes[name] = max(check.sessions, passes.get(name, 0))
    for candidate in candidates:
        undecided = candidate.type == "failing_command" and candidate.status == "candidate"
        if not (undecided and candidate.sessions <= passes.get(candidate.locus, 0)):
            yield candidate


class SignalCounter:
    """Counts signals in one pass, the newest session first.

    Errors of the same shape, and their cures, are counted together from the start: there are
    thousands of each. Other near duplicates are joined at the end, when all are known. Most
    patterns have a single signal, which is kept as it came until there is a second one.
    """

    def __init__(self) -> None:
        self.sessions: dict[int, FlavorAndRepo] = {}
        self._ended: dict[str, dict[int, int]] = {}  # by project, the end of every session
        self._by_pattern: dict[str, Tally] = {}
        self._by_key: dict[object, Tally | SingleSignal] = {}
        self._shapes: dict[str, tuple[str, ...]] = {}  # of every error
        self._said: list[SingleSignal] = []

    def add(self, mined: Mined) -> None:
        """Count the signals of a session."""
        self.sessions.setdefault(mined.counts_as, (mined.flavor, mined.repo))
        if mined.repo and mined.at is not None and mined.signals:  # without any, nothing was done
            self._ended.setdefault(mined.repo, {})[mined.counts_as] = mined.at
        by_pattern = self._by_pattern
        session = None  # without its signals, so that keeping one of them does not keep them all
        for signal in mined.signals:
            tally = by_pattern.get(signal.pattern)
            if signal.said is not None:  # what it means depends on all that was said
                session = session or msgspec.structs.replace(mined, signals=())
                self._said.append((session, signal))
            elif tally is not None:
                tally.add(mined, signal)
            else:
                session = session or msgspec.structs.replace(mined, signals=())
                self._add_new(session, signal)

    def sessions_since(self, candidate: Candidate) -> int:
        """Sessions of its projects that ended after it was last seen."""
        last = candidate.last_seen
        if last is None:
            return 0
        return sum(
            at > last for repo in candidate.repos for at in self._ended.get(repo, {}).values()
        )

    def _add_new(self, mined: Mined, signal: Signal) -> None:
        key = self._key(signal)
        tally = self._by_key.get(key)
        if tally is None:
            self._by_key[key] = mined, signal
            return
        if isinstance(tally, tuple):
            first, tally = tally[1], start_tally(tally)
            self._by_key[key] = tally
            if first.count:
                self._by_pattern[first.pattern] = tally
        if signal.count:  # a cure that did not work is no occurrence of its pattern
            self._by_pattern[signal.pattern] = tally
            tally.patterns.append(signal.pattern)
        tally.add(mined, signal)

    def _key(self, signal: Signal) -> object:
        """Equal for all signals that are certain to end up in one candidate."""
        if signal.type == "recurring_error":
            words = self._shapes[signal.locus] = shape(signal.locus, masked=True)
            return words
        if signal.rule and signal.type == "cure":  # one change may help against many errors
            return signal.type, signal.locus
        if words := self._shapes.get(signal.about):
            return signal.type, signal.locus, words
        return signal.pattern

    def tallies(
        self, statuses: Mapping[str, PatternStatus], *, single_signals: bool
    ) -> Iterable[Tally]:
        """The tallies with near duplicates joined; patterns of a single signal only if wanted."""
        errors, corrections = self._error_names(statuses), self._correction_names(statuses)
        tallies: dict[str, Tally] = {}
        singles: dict[str, SingleSignal] = {}
        for tally in self._by_key.values():
            item = tally[1] if isinstance(tally, tuple) else tally
            locus = None
            if isinstance(tally, Tally) and tally.abouts:
                tally.abouts = _renamed(tally.abouts, errors)
                tally.take_name(_known_first(sorted(tally.patterns), statuses), tally.locus)
            elif item.about or item.type == "recurring_error":  # a cure is renamed with its error
                locus = errors.get(item.about or item.locus)
            elif item.type == "user_correction":
                locus = corrections.get(item.locus)
            if isinstance(tally, tuple):
                if locus is None and singles.setdefault(tally[1].pattern, tally) is tally:
                    continue
                tally = start_tally(tally)
            if locus is not None:
                tally.rename(locus)
            same = tallies.setdefault(tally.pattern, tally)
            if same is not tally:
                same.join(tally)
        for pattern, single in singles.items():
            if pattern in tallies:
                tallies[pattern].join(start_tally(single))
            elif single_signals:
                tallies[pattern] = start_tally(single)
        return [*tallies.values(), *self._stated(statuses)]

    def _stated(self, statuses: Mapping[str, PatternStatus]) -> Iterator[Tally]:
        for group in group_stated(self._said):
            tally = start_tally(group.said[0])
            for single in group.said[1:]:
                tally.join(start_tally(single))
            # Its words are those of the statement it is named by: they are forgotten together.
            signals = {signal.pattern: signal for _, signal in group.said}
            named = signals[_known_first(signals, statuses)]
            tally.take_name(named.pattern, named.locus)
            if group.repeated and named.said and (rule := rule_text(named.said, group.shared)):
                tally.rules = {rule: 1}
            yield tally

    def _error_names(self, statuses: Mapping[str, PatternStatus]) -> dict[str, str]:
        by_shape: dict[tuple[str, ...], list[str]] = {}
        for locus, words in self._shapes.items():
            by_shape.setdefault(words, []).append(locus)
        groups = [group.members for group in group_shapes(by_shape)]
        return _common_loci("recurring_error", groups, statuses)

    def _correction_names(self, statuses: Mapping[str, PatternStatus]) -> dict[str, str]:
        items = (t[1] if isinstance(t, tuple) else t for t in self._by_key.values())
        loci = [item.locus for item in items if item.type == "user_correction"]
        return _common_loci("user_correction", group_by_words(loci), statuses)


def _renamed(counts: Mapping[str, int], names: Mapping[str, str]) -> dict[str, int]:
    """Counts under the names of near duplicates."""
    renamed: dict[str, int] = {}
    for name, count in counts.items():
        renamed[names.get(name, name)] = renamed.get(names.get(name, name), 0) + count
    return renamed


def _known_first(patterns: Iterable[str], statuses: Mapping[str, PatternStatus]) -> str:
    """The id that many signals go by: one decided on, else one that is known, else the first."""
    return min(
        patterns,
        key=lambda name: (statuses.get(name) in (None, "candidate"), name not in statuses),
    )


def _common_loci(
    signal_type: SignalType, groups: list[list[str]], statuses: Mapping[str, PatternStatus]
) -> dict[str, str]:
    """Locus to the locus it is counted under, for those that have near duplicates."""

    def precedence(locus: str) -> tuple[bool, bool, str]:
        status = statuses.get(pattern_id(signal_type, locus))
        return status in (None, "candidate"), status is None, locus

    common: dict[str, str] = {}
    for members in groups:
        if len(members) > 1:
            common.update(dict.fromkeys(members, min(members, key=precedence)))
    return common
