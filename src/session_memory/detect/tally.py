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

_Quoted = tuple[int, str, str, int, bool]
"""(minus its time, session, text, event or -1, whether the time is known), in a complete order."""

Origin = tuple[str, str | None]
"""The flavour and the repository of a session."""
SingleSignal = tuple[Mined, Signal]
"""A signal with its session."""


class Tally(msgspec.Struct, eq=False, array_like=True):
    """Signals added up."""

    pattern: str
    type: SignalType
    locus: str
    about: str
    seen: dict[tuple[int, str, str | None], int] = {}
    """(occurrences in a session, its flavour, its repository) to how many sessions had these."""
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
        return sum(self.seen.values())

    def add(self, mined: Mined, signal: Signal) -> None:
        """Add what a signal says; `close` counts its session."""
        count = signal.count
        if not count:
            return  # a cure that did not work is not an occurrence of its pattern
        self.patterns.add(signal.pattern)
        if rule := signal.rule:
            self.rules[rule] = self.rules.get(rule, 0) + count
            if signal.about:
                self.abouts[signal.about] = self.abouts.get(signal.about, 0) + count
        if signal.usd is not None:
            self.usd = (self.usd or 0) + round(signal.usd * _UNITS)
        if signal.minutes:
            self.minutes += round(signal.minutes * _UNITS)
        at = signal.at
        if at is None:
            at = mined.at
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
                _keep(quotes, (age, mined.external_id, signal.quote, seq, at is not None))

    def close(self, count: int, tried: bool, origin: Origin) -> None:
        """Count a session, with its sub-agents: how often it showed this, and where it ran."""
        if tried:
            self.tried += 1
        if count:
            key = count, *origin
            self.seen[key] = self.seen.get(key, 0) + 1

    def join(self, other: Tally) -> None:
        """Add the totals of other sessions."""
        self.tried += other.tried
        self.patterns |= other.patterns
        _add(self.seen, other.seen)
        _add(self.rules, other.rules)
        _add(self.abouts, other.abouts)
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
        spread: dict[int, int] = {}
        flavors: dict[str, int] = {}
        repos: dict[str, int] = {}
        for (count, flavor, repo), sessions in self.seen.items():
            _add(spread, {count: sessions})
            _add(flavors, {flavor: sessions})
            if repo:
                _add(repos, {repo: sessions})
        return Candidate(
            id=self.pattern,
            kind=kind_of(self.type),
            type=self.type,
            locus=self.locus,
            about=problems[0] if problems else self.about,
            frequency=sum(count * sessions for count, sessions in spread.items()),
            sessions=self.sessions,
            spread=dict(sorted(spread.items())),
            cross_flavor=len(flavors) > 1,
            flavors=dict(sorted(flavors.items())),
            repos=dict(sorted(repos.items(), key=lambda item: (-item[1], item[0]))),
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
        tally.close(count, owner in tried, origins[owner])
    return tally


def most_common(counts: Mapping[str, int]) -> list[str]:
    """Names, the most frequent first."""
    return sorted(counts, key=lambda name: (-counts[name], len(name), name))


def _add(mine: dict[_K, int], theirs: Mapping[_K, int]) -> None:
    for name, count in theirs.items():
        mine[name] = mine.get(name, 0) + count


def _keep(quotes: list[_Quoted], quoted: _Quoted) -> None:
    """Add a quote if it is among the newest."""
    insort(quotes, quoted)
    del quotes[QUOTES:]


def _best(quotes: Mapping[str, list[_Quoted]]) -> Iterator[Quote]:
    """The newest quote of every flavour, then the second of each, without repeated texts."""
    shown: set[str] = set()
    for rank in range(QUOTES):
        for flavor in sorted(quotes):
            if rank < len(quotes[flavor]):
                age, session, text, seq, is_dated = quotes[flavor][rank]
                if text not in shown:
                    shown.add(text)
                    yield Quote(
                        session, flavor, None if seq < 0 else seq, text, -age if is_dated else None
                    )
