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
"""Reads the evidence from its start."""
Owners = dict[int, tuple[str, str | None]]
"""(flavour, repository) of every session that counts."""


class _Once(msgspec.Struct, frozen=True, gc=False):
    """A pattern seen so far in one place only, as most are: kept small."""

    mined: Mined
    """Without its signals, which would keep the others of the session alive."""
    signal: Signal


class _Tally(msgspec.Struct, gc=False):
    """What is known of one candidate so far."""

    type: SignalType
    locus: str
    about: str
    counts: dict[int, int]
    """Occurrences by session."""
    quotes: dict[str, list[Quote]]
    tried: set[int] | None = None
    usd: float | None = None
    minutes: float = 0.0
    first: int | None = None
    last: int | None = None
    merged: list[str] | None = None


Folded = dict[str, _Once | _Tally]
"""By pattern."""
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
    owners: Owners = {}
    folded = _fold(evidence(), owners)
    _join(folded, _renamed(folded, known))
    kept: list[Candidate] = []
    for name, one in folded.items():
        if _total(one) >= bar:
            found = _candidate(name, _tally(one), owners)
            if found.frequency and reaches(found, bar):
                status = known.get(name, "candidate")
                kept.append(msgspec.structs.replace(found, status=status))
    return sorted(_without_checks(kept), key=lambda one: one.id)


def _without_checks(found: list[Candidate]) -> Iterator[Candidate]:
    """All but checks that fail no more often than they pass: it is the code that failed them."""
    passes = {one.locus: one.sessions for one in found if one.type == "verified_recipe"}
    for one in found:
        undecided = one.type == "failing_command" and one.status == "candidate"
        if not (undecided and one.sessions <= passes.get(one.locus, 0)):
            yield one


def _fold(evidence: Iterable[Mined], owners: Owners) -> Folded:
    """Every pattern with what all sessions say of it; one pass, since reading takes longest."""
    folded: Folded = {}
    for mined in evidence:
        if mined.counts_as not in owners:
            owners[mined.counts_as] = (mined.flavor, mined.repo)
        bare: Mined | None = None
        for signal in mined.signals:
            name = signal.pattern
            known = folded.get(name)
            if known is None:
                bare = bare or msgspec.structs.replace(mined, signals=())
                folded[name] = _Once(bare, signal)
                continue
            if isinstance(known, _Once):
                folded[name] = known = _tally(known)
            _add(known, mined, signal)
    return folded


def _total(one: _Once | _Tally) -> int:
    return one.signal.count if isinstance(one, _Once) else sum(one.counts.values())


def _tally(one: _Once | _Tally) -> _Tally:
    if isinstance(one, _Tally):
        return one
    tally = _Tally(one.signal.type, one.signal.locus, one.signal.about, {}, {})
    _add(tally, one.mined, one.signal)
    return tally


def _renamed(folded: Folded, known: Mapping[str, PatternStatus]) -> dict[str, Name]:
    """Patterns that count under another name, since they are near duplicates of it."""
    joinable: list[tuple[str, SignalType, str, str]] = []
    ids: dict[SignalType, dict[str, str]] = {"recurring_error": {}, "user_correction": {}}
    for name, one in folded.items():
        shown = one.signal if isinstance(one, _Once) else one
        if shown.about or shown.type in ids:
            joinable.append((name, shown.type, shown.locus, shown.about))
        if shown.type in ids:
            ids[shown.type][shown.locus] = name
    errors = _chosen(_templates(ids["recurring_error"]), ids["recurring_error"], known)
    corrections = _chosen(alike(ids["user_correction"]), ids["user_correction"], known)
    renamed: dict[str, Name] = {}
    for name, kind, old, cured in joinable:
        chosen = corrections if kind == "user_correction" else errors
        locus = old if cured else chosen.get(old, old)
        about = errors.get(cured, cured)
        if locus != old or about != cured:
            renamed[name] = (pattern_id(kind, locus, about), locus, about)
    return renamed


def _join(folded: Folded, renamed: Mapping[str, Name]) -> None:
    """Move what counts under another name there."""
    for old, (name, locus, about) in renamed.items():
        one = folded.pop(old)
        known = folded.get(name)
        if known is None:
            shown = one.signal if isinstance(one, _Once) else one
            known = _Tally(shown.type, locus, about, {}, {})
        folded[name] = target = _tally(known)
        if isinstance(one, _Once):
            _add(target, one.mined, one.signal)
            counted = one.signal.count
        else:
            _add_all(target, one)
            counted = any(one.counts.values())
        if counted:
            target.merged = target.merged or []
            target.merged.append(old)


def _templates(errors: Iterable[str]) -> list[list[str]]:
    return [found.members for found in group(errors, masked=True)]


def _chosen(
    groups: list[list[str]], ids: Mapping[str, str], known: Mapping[str, PatternStatus]
) -> dict[str, str]:
    """Locus to the one it is counted under, for those that have near duplicates."""

    def precedence(locus: str) -> tuple[bool, bool, str]:
        status = known.get(ids[locus])
        return status in (None, "candidate"), status is None, locus

    chosen: dict[str, str] = {}
    for members in groups:
        if len(members) > 1:
            chosen.update(dict.fromkeys(members, min(members, key=precedence)))
    return chosen


def _add(tally: _Tally, mined: Mined, signal: Signal) -> None:
    owner, count = mined.counts_as, signal.count
    tally.counts[owner] = tally.counts.get(owner, 0) + count
    if signal.tried:
        tally.tried = tally.tried or set()
        tally.tried.add(owner)
    if not count:
        return
    if signal.usd is not None:
        tally.usd = (tally.usd or 0.0) + signal.usd
    tally.minutes += signal.minutes
    at = signal.at if signal.at is not None else mined.at
    _seen(tally, at, at)
    if signal.quote:
        quotes = tally.quotes.setdefault(mined.flavor, [])
        if len(quotes) < QUOTES or (at or 0) >= (quotes[-1].at or 0):  # most come newest first
            quotes.append(Quote(mined.external_id, mined.flavor, signal.seq, signal.quote, at))
            quotes.sort(key=_newest)
            del quotes[QUOTES:]


def _add_all(tally: _Tally, other: _Tally) -> None:
    for owner, count in other.counts.items():
        tally.counts[owner] = tally.counts.get(owner, 0) + count
    if other.tried:
        tally.tried = (tally.tried or set()) | other.tried
    if other.usd is not None:
        tally.usd = (tally.usd or 0.0) + other.usd
    tally.minutes += other.minutes
    _seen(tally, other.first, other.last)
    for flavor, quotes in other.quotes.items():
        both = [*tally.quotes.get(flavor, ()), *quotes]
        tally.quotes[flavor] = sorted(both, key=_newest)[:QUOTES]


def _seen(tally: _Tally, first: int | None, last: int | None) -> None:
    if first is not None and (tally.first is None or first < tally.first):
        tally.first = first
    if last is not None and (tally.last is None or last > tally.last):
        tally.last = last


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


def _candidate(name: str, tally: _Tally, owners: Owners) -> Candidate:
    counts = {owner: count for owner, count in tally.counts.items() if count}
    flavors = Counter(owners[owner][0] for owner in counts)
    repos = Counter(repo for owner in counts if (repo := owners[owner][1]))
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
        tried=len(tally.tried or ()),
        value=0.0,
        quotes=tuple(_best(tally.quotes))[:QUOTES],
        merged=tuple(sorted(tally.merged or ())),
    )
