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

    name: str
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
    tallies = _tallies(evidence(), bar, known)
    sessions: dict[int, tuple[str, str | None]] = {}
    for mined in evidence():
        sessions.setdefault(mined.counts_as, (mined.flavor, mined.repo))
        for signal in mined.signals:
            tally = tallies.get(signal.pattern)
            if tally is not None:
                _add(tally, mined, signal)
    distinct = {tally.name: tally for tally in tallies.values()}
    found = (_candidate(name, tally, sessions) for name, tally in distinct.items())
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


def _tallies(
    evidence: Iterable[Mined], bar: int, known: Mapping[str, PatternStatus]
) -> dict[str, _Tally]:
    """An empty tally for every pattern worth folding; those of one name share theirs."""
    counts: dict[str, int] = {}
    kept: dict[str, Signal] = {}
    for mined in evidence:
        for signal in mined.signals:
            pattern = signal.pattern
            if pattern in counts:
                counts[pattern] += signal.count
            else:
                counts[pattern] = signal.count
                kept[pattern] = signal
    names = _renamed(kept.values(), known)
    for pattern, name in names.items():
        counts[name[0]] = counts.get(name[0], 0) + counts[pattern]  # it brings them along
    by_name: dict[str, _Tally] = {}
    tallies: dict[str, _Tally] = {}
    for pattern, signal in kept.items():
        name, locus, about = names.get(pattern) or (pattern, signal.locus, signal.about)
        if counts[name] >= bar:
            tally = by_name.get(name)
            if tally is None:
                tally = by_name[name] = _Tally(
                    *(name, signal.type, locus, about), {}, set(), quotes={}, merged=set()
                )
            tallies[pattern] = tally
    return tallies


def _renamed(kept: Iterable[Signal], known: Mapping[str, PatternStatus]) -> dict[str, Name]:
    """What patterns count as, of those that count under another name."""
    joinable = [
        one for one in kept if one.about or one.type in ("recurring_error", "user_correction")
    ]
    loci: dict[SignalType, set[str]] = {}
    for signal in joinable:
        loci.setdefault(signal.type, set()).add(signal.locus)
    errors = _chosen("recurring_error", _templates(loci.get("recurring_error", ())), known)
    corrections = _chosen("user_correction", alike(loci.get("user_correction", ())), known)
    renamed: dict[str, Name] = {}
    for signal in joinable:
        chosen = corrections if signal.type == "user_correction" else errors
        locus = signal.locus if signal.about else chosen.get(signal.locus, signal.locus)
        about = errors.get(signal.about, signal.about)
        if (locus, about) != (signal.locus, signal.about):
            renamed[signal.pattern] = (pattern_id(signal.type, locus, about), locus, about)
    return renamed


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


def _add(tally: _Tally, mined: Mined, signal: Signal) -> None:
    owner = mined.counts_as
    tally.counts[owner] = tally.counts.get(owner, 0) + signal.count
    if signal.tried:
        tally.tried.add(owner)
    if not signal.count:
        return
    if signal.pattern != tally.name:
        tally.merged.add(signal.pattern)
    if signal.usd is not None:
        tally.usd = (tally.usd or 0.0) + signal.usd
    tally.minutes += signal.minutes
    at = signal.at if signal.at is not None else mined.at
    if at is not None:
        if tally.first is None or at < tally.first:
            tally.first = at
        if tally.last is None or at > tally.last:
            tally.last = at
    if signal.quote:
        quotes = tally.quotes.get(mined.flavor)
        if quotes is None:
            quotes = tally.quotes[mined.flavor] = []
        # Most come newest first, and are then not even made.
        if len(quotes) < QUOTES or (at or 0) >= (quotes[-1].at or 0):
            _quote(quotes, mined, signal, at)


def _quote(quotes: list[Quote], mined: Mined, signal: Signal, at: int | None) -> None:
    """Keep the quote if it is among the newest."""
    place = -(at or 0), mined.external_id, signal.quote
    if len(quotes) < QUOTES or place < _newest(quotes[-1]):
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
