"""Signals of many sessions folded into what recurs: by type and locus, near duplicates joined."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping

import msgspec

from session_memory.core.patterns import (
    Candidate,
    Mined,
    PatternStatus,
    Quote,
    Signal,
    SignalType,
    kind_of,
    pattern_id,
)
from session_memory.detect.templates import group
from session_memory.detect.wordings import alike

SHARE = 0.5
"""One session fills at most this share of the bar, however often something happened in it."""
QUOTES = 3

Evidence = Callable[[], Iterable[Mined]]
"""Reads the evidence from its start: it is gone through twice, so that it need not be kept."""


class _Tally(msgspec.Struct):
    """What is known of one candidate so far."""

    type: SignalType
    locus: str
    about: str
    counts: dict[int, int]
    tried: set[int]
    usd: float | None = None
    minutes: float = 0.0
    first: int | None = None
    last: int | None = None
    quotes: dict[str, list[Quote]] = {}
    merged: set[str] = set()


Name = tuple[str, str, str]
"""(id, locus, about) under which a signal counts."""


class _Names(msgspec.Struct, frozen=True):
    """Which patterns count under another name, and which names are worth folding."""

    renamed: dict[str, Name]
    frequent: frozenset[str]


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
    names = _names(evidence(), bar, known)
    sessions: dict[int, tuple[str, str | None]] = {}
    tallies: dict[str, _Tally] = {}
    for mined in evidence():
        sessions.setdefault(mined.counts_as, (mined.flavor, mined.repo))
        for signal in mined.signals:
            renamed = names.renamed.get(signal.pattern)
            name, locus, about = renamed or (signal.pattern, signal.locus, signal.about)
            if name in names.frequent:
                tally = tallies.get(name)
                if tally is None:
                    tally = _Tally(signal.type, locus, about, {}, set(), quotes={}, merged=set())
                    tallies[name] = tally
                _add(tally, mined, signal, name)
    found = (_candidate(name, tally, sessions) for name, tally in tallies.items())
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


def _names(evidence: Iterable[Mined], bar: int, known: Mapping[str, PatternStatus]) -> _Names:
    counts: Counter[str] = Counter()
    joinable: dict[str, Signal] = {}  # what may count under another name
    for mined in evidence:
        for signal in mined.signals:
            counts[signal.pattern] += signal.count
            if signal.about or signal.type in ("recurring_error", "user_correction"):
                joinable.setdefault(signal.pattern, signal)
    loci: dict[SignalType, set[str]] = {}
    for signal in joinable.values():
        loci.setdefault(signal.type, set()).add(signal.locus)
    errors = _chosen("recurring_error", _templates(loci.get("recurring_error", ())), known)
    corrections = _chosen("user_correction", alike(loci.get("user_correction", ())), known)
    renamed: dict[str, Name] = {}
    for pattern, signal in joinable.items():
        chosen = corrections if signal.type == "user_correction" else errors
        locus = signal.locus if signal.about else chosen.get(signal.locus, signal.locus)
        about = errors.get(signal.about, signal.about)
        if (locus, about) != (signal.locus, signal.about):
            renamed[pattern] = name = (pattern_id(signal.type, locus, about), locus, about)
            counts[name[0]] += counts[pattern]  # it brings its occurrences along
    frequent = frozenset(name for name, count in counts.items() if count >= bar)
    return _Names(renamed, frequent)


def _templates(errors: Iterable[str]) -> list[list[str]]:
    return [found.members for found in group(errors, masked=True)]


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


def _add(tally: _Tally, mined: Mined, signal: Signal, name: str) -> None:
    owner = mined.counts_as
    tally.counts[owner] = tally.counts.get(owner, 0) + signal.count
    if signal.tried:
        tally.tried.add(owner)
    if not signal.count:
        return
    if signal.pattern != name:
        tally.merged.add(signal.pattern)
    if signal.usd is not None:
        tally.usd = (tally.usd or 0.0) + signal.usd
    tally.minutes += signal.minutes
    at = signal.at if signal.at is not None else mined.at
    if at is not None:
        tally.first = at if tally.first is None else min(tally.first, at)
        tally.last = at if tally.last is None else max(tally.last, at)
    if signal.quote:
        quotes = tally.quotes.setdefault(mined.flavor, [])
        if len(quotes) < QUOTES or (at or 0) >= (quotes[-1].at or 0):  # most come newest first
            quotes.append(Quote(mined.external_id, mined.flavor, signal.seq, signal.quote, at))
            quotes.sort(key=_newest)
            del quotes[QUOTES:]


def _newest(quote: Quote) -> tuple[int, str, str]:
    return -(quote.at or 0), quote.session, quote.text


def _best(quotes: Mapping[str, list[Quote]]) -> Iterator[Quote]:
    """The newest of every flavour first, then the second of each; none says the same twice."""
    said: set[str] = set()
    for place in range(QUOTES):
        for flavor in sorted(quotes):
            if place < len(quotes[flavor]) and quotes[flavor][place].text not in said:
                said.add(quotes[flavor][place].text)
                yield quotes[flavor][place]


def _candidate(
    name: str, tally: _Tally, sessions: Mapping[int, tuple[str, str | None]]
) -> Candidate:
    counts = {owner: count for owner, count in tally.counts.items() if count}
    flavors = Counter(sessions[owner][0] for owner in counts)
    repos = Counter(repo for owner in counts if (repo := sessions[owner][1]))
    return Candidate(
        id=name,
        kind=kind_of(tally.type),
        type=tally.type,
        locus=tally.locus,
        about=tally.about,
        frequency=sum(counts.values()),
        sessions=len(counts),
        spread=dict(sorted(Counter(counts.values()).items())),
        cross_flavor=len(flavors) > 1,
        flavors=dict(sorted(flavors.items())),
        repos=dict(sorted(repos.items(), key=lambda item: (-item[1], item[0]))),
        usd=None if tally.usd is None else round(tally.usd, 4),
        minutes=round(tally.minutes, 2),
        first_seen=tally.first,
        last_seen=tally.last,
        tried=len(tally.tried),
        value=0.0,
        quotes=tuple(_best(tally.quotes))[:QUOTES],
        merged=tuple(sorted(tally.merged)),
    )
