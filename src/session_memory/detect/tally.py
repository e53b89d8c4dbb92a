"""The running totals of one candidate.

Tallies of different sessions add up in any order to the same one: sums are whole numbers, quotes
are the newest by a complete order. So parts of the evidence may be counted apart, on any machine.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Hashable, Iterable, Iterator, Mapping
from typing import TypeVar

import msgspec

from session_memory.core.loop.patterns import (
    Candidate,
    Mined,
    Quote,
    Signal,
    SignalType,
    kind_of,
)

_K = TypeVar("_K", bound=Hashable)

QUOTES = 3
_UNITS = 1_000_000_000
"""Dollars and minutes are summed in billionths: sums of fractions depend on their order."""

_Quoted = tuple[int, str, str, int, int | None]
"""(age, session, text, event or -1, time), sorted; made into a Quote when it is shown."""

SingleSignal = tuple[Mined, Signal]
"""A signal with its session."""


class Tally(msgspec.Struct, eq=False, array_like=True):
    """Signals added up."""

    pattern: str
    type: SignalType
    locus: str
    about: str
    frequency: int = 0
    spread: dict[int, int] = {}
    """Occurrences in a session, to how many sessions had them."""
    flavors: dict[str, int] = {}
    repos: dict[str, int] = {}
    tried: int = 0
    patterns: set[str] = set()
    """Ids of the signals that are counted here."""
    usd: int | None = None
    minutes: int = 0
    first: int | None = None
    last: int | None = None
    quotes: dict[str, list[_Quoted]] = {}
    """By flavour, newest first."""
    rules: dict[str, int] = {}
    """What to write down, to how often it was worded so."""
    abouts: dict[str, int] = {}
    """Problems that a cure with a rule helped against."""

    @property
    def sessions(self) -> int:
        """How many sessions show it."""
        return sum(self.spread.values())

    def add(self, mined: Mined, signal: Signal) -> None:
        """Add what a signal says; `close` counts its session."""
        count = signal.count
        if not count:
            return  # a cure that did not work is no occurrence of its pattern
        self.patterns.add(signal.pattern)
        if signal.rule:
            self.rules[signal.rule] = self.rules.get(signal.rule, 0) + count
            if signal.about:
                self.abouts[signal.about] = self.abouts.get(signal.about, 0) + count
        if signal.usd is not None:
            self.usd = (self.usd or 0) + round(signal.usd * _UNITS)
        if signal.minutes:
            self.minutes += round(signal.minutes * _UNITS)
        at = signal.at if signal.at is not None else mined.at
        if at is not None:
            if self.first is None or at < self.first:
                self.first = at
            if self.last is None or at > self.last:
                self.last = at
        if signal.quote:
            quotes = self.quotes.get(mined.flavor)
            if quotes is None:
                quotes = self.quotes[mined.flavor] = []
            age = -(at or 0)
            # Skip quotes older than every quote already kept: most sessions come newest first.
            if len(quotes) < QUOTES or age <= quotes[-1][0]:
                seq = -1 if signal.seq is None else signal.seq
                _keep(quotes, (age, mined.external_id, signal.quote, seq, at))

    def close(self, count: int, tried: bool, flavor: str, repo: str | None) -> None:
        """Count a session, with its sub-agents: how often it showed this, and where it ran."""
        self.tried += tried
        if not count:
            return
        self.frequency += count
        self.spread[count] = self.spread.get(count, 0) + 1
        self.flavors[flavor] = self.flavors.get(flavor, 0) + 1
        if repo:
            self.repos[repo] = self.repos.get(repo, 0) + 1

    def join(self, other: Tally) -> None:
        """Add the totals of other sessions."""
        self.frequency += other.frequency
        self.tried += other.tried
        self.patterns |= other.patterns
        _add(self.spread, other.spread)
        for mine, theirs in (
            (self.flavors, other.flavors),
            (self.repos, other.repos),
            (self.rules, other.rules),
            (self.abouts, other.abouts),
        ):
            _add(mine, theirs)
        if other.usd is not None:
            self.usd = (self.usd or 0) + other.usd
        self.minutes += other.minutes
        self.first = min((at for at in (self.first, other.first) if at is not None), default=None)
        self.last = max((at for at in (self.last, other.last) if at is not None), default=None)
        for flavor, quotes in other.quotes.items():
            for quoted in quotes:
                _keep(self.quotes.setdefault(flavor, []), quoted)

    def candidate(self, errors: Mapping[str, str]) -> Candidate:
        """The candidate these signals add up to; `errors` are the names of near duplicates."""
        abouts: dict[str, int] = {}
        for about, count in self.abouts.items():
            _add(abouts, {errors.get(about, about): count})
        problems = most_common(abouts)
        return Candidate(
            id=self.pattern,
            kind=kind_of(self.type),
            type=self.type,
            locus=self.locus,
            about=problems[0] if problems else self.about,
            frequency=self.frequency,
            sessions=self.sessions,
            spread=dict(sorted(self.spread.items())),
            cross_flavor=len(self.flavors) > 1,
            flavors=dict(sorted(self.flavors.items())),
            repos=dict(sorted(self.repos.items(), key=lambda item: (-item[1], item[0]))),
            usd=None if self.usd is None else round(self.usd / _UNITS, 4),
            minutes=round(self.minutes / _UNITS, 2),
            first_seen=self.first,
            last_seen=self.last,
            tried=self.tried,
            value=0.0,
            quotes=tuple(_best(self.quotes))[:QUOTES],
            merged=tuple(sorted(self.patterns - {self.pattern})),
            rule=next(iter(most_common(self.rules)), ""),
            problems=tuple(problems),
        )


Origin = tuple[str, str | None]
"""The flavour and the repository of a session."""


def tally_of(
    signals: Iterable[SingleSignal], named: Signal, origins: Mapping[int, Origin]
) -> Tally:
    """A tally of these signals, under the name of one of them."""
    tally = Tally(named.pattern, named.type, named.locus, "")
    counts: dict[int, int] = {}
    tried: set[int] = set()
    for mined, signal in signals:
        tally.add(mined, signal)
        counts[mined.counts_as] = counts.get(mined.counts_as, 0) + signal.count
        if signal.tried:
            tried.add(mined.counts_as)
    for owner, count in counts.items():
        tally.close(count, owner in tried, *origins[owner])
    return tally


def most_common(counts: Mapping[str, int]) -> list[str]:
    """Names, the most frequent first."""
    return sorted(counts, key=lambda name: (-counts[name], len(name), name))


def _add(mine: dict[_K, int], theirs: Mapping[_K, int]) -> None:
    for name, count in theirs.items():
        mine[name] = mine.get(name, 0) + count


def _keep(quotes: list[_Quoted], quoted: _Quoted) -> None:
    """Add a quote if it is among the newest."""
    if len(quotes) < QUOTES:
        insort(quotes, quoted, key=_order)
    elif _order(quoted) < _order(quotes[-1]):
        quotes.pop()
        insort(quotes, quoted, key=_order)


def _order(quoted: _Quoted) -> tuple[int, str, str, int]:
    return quoted[:4]


def _best(quotes: Mapping[str, list[_Quoted]]) -> Iterator[Quote]:
    """The newest quote of every flavour, then the second of each, without repeated texts."""
    shown: set[str] = set()
    for rank in range(QUOTES):
        for flavor in sorted(quotes):
            if rank < len(quotes[flavor]):
                _, session, text, seq, at = quotes[flavor][rank]
                if text not in shown:
                    shown.add(text)
                    yield Quote(session, flavor, None if seq < 0 else seq, text, at)
