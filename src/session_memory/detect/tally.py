"""What is known of one candidate so far: every signal that counts for it is added once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from session_memory.core.patterns import (
    Candidate,
    Mined,
    Quote,
    Signal,
    SignalType,
    kind_of,
    pattern_id,
)

QUOTES = 3

Session = tuple[str, str | None]
"""(flavour, repository) of a session."""


class Tally:
    """Signals added up. There are as many as patterns, so that what few need is made late."""

    __slots__ = (
        *("pattern", "type", "locus", "about", "counts", "tried", "patterns"),
        *("usd", "minutes", "first", "last", "quotes"),
    )

    def __init__(self, signal: Signal) -> None:
        self.pattern = signal.pattern
        self.type: SignalType = signal.type
        self.locus, self.about = signal.locus, signal.about
        self.counts: dict[int, int] = {}
        self.tried: set[int] | None = None
        self.patterns: list[str] = []  # ids of the signals that are counted here
        self.usd: float | None = None
        self.minutes = 0.0
        self.first: int | None = None
        self.last: int | None = None
        self.quotes: dict[str, list[Quote]] = {}

    def add(self, mined: Mined, signal: Signal) -> None:
        """Count what a session shows."""
        owner, count, counts = mined.counts_as, signal.count, self.counts
        counts[owner] = counts.get(owner, 0) + count
        if signal.tried:
            self.tried = self.tried or set()
            self.tried.add(owner)
        if not count:
            return
        if signal.usd is not None:
            self.usd = (self.usd or 0.0) + signal.usd
        self.minutes += signal.minutes
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
            # Most come newest first, and are then not even made.
            if len(quotes) < QUOTES or (at or 0) >= (quotes[-1].at or 0):
                said = Quote(mined.external_id, mined.flavor, signal.seq, signal.quote, at)
                _keep(quotes, said)

    def rename(self, locus: str, about: str) -> None:
        """Count for another pattern of the same type."""
        self.pattern, self.locus, self.about = pattern_id(self.type, locus, about), locus, about

    def join(self, other: Tally) -> None:
        """Count what was counted under another name."""
        for owner, count in other.counts.items():
            self.counts[owner] = self.counts.get(owner, 0) + count
        if other.tried:
            self.tried = other.tried | (self.tried or set())
        self.patterns += other.patterns
        if other.usd is not None:
            self.usd = (self.usd or 0.0) + other.usd
        self.minutes += other.minutes
        if other.first is not None:
            self.first = other.first if self.first is None else min(self.first, other.first)
        if other.last is not None:
            self.last = other.last if self.last is None else max(self.last, other.last)
        for flavor, quotes in other.quotes.items():
            for quote in quotes:
                _keep(self.quotes.setdefault(flavor, []), quote)

    def candidate(self, sessions: Mapping[int, Session]) -> Candidate:
        """The candidate these signals add up to."""
        counts = self.counts
        if 0 in counts.values():
            counts = {owner: count for owner, count in counts.items() if count}
        flavors: Counter[str] = Counter()
        repos: Counter[str] = Counter()
        for (flavor, repo), number in Counter(map(sessions.__getitem__, counts)).items():
            flavors[flavor] += number
            if repo:
                repos[repo] += number
        return Candidate(
            id=self.pattern,
            kind=kind_of(self.type),
            type=self.type,
            locus=self.locus,
            about=self.about,
            frequency=sum(counts.values()),
            sessions=len(counts),
            spread=dict(sorted(Counter(counts.values()).items())),
            cross_flavor=len(flavors) > 1,
            flavors=dict(sorted(flavors.items())),
            repos=dict(sorted(repos.items(), key=lambda item: (-item[1], item[0]))),
            usd=None if self.usd is None else round(self.usd, 4),
            minutes=round(self.minutes, 2),
            first_seen=self.first,
            last_seen=self.last,
            tried=len(self.tried or ()),
            value=0.0,
            quotes=tuple(_best(self.quotes))[:QUOTES],
            merged=tuple(sorted(set(self.patterns) - {self.pattern})),
        )


def _keep(quotes: list[Quote], quote: Quote) -> None:
    """Add a quote if it is among the newest."""
    if len(quotes) < QUOTES or _newest(quote) < _newest(quotes[-1]):
        quotes.append(quote)
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
