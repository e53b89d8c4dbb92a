"""The running totals of one candidate."""

from __future__ import annotations

from bisect import insort
from collections import Counter
from collections.abc import Iterator, Mapping
from operator import itemgetter

from session_memory.core.loop.patterns import (
    Candidate,
    Mined,
    Quote,
    Signal,
    SignalType,
    kind_of,
    pattern_id,
)

QUOTES = 3

FlavorAndRepo = tuple[str, str | None]

_Quoted = tuple[tuple[int, str, str], int | None, int | None]
"""((age, session, text), event, time), sorted by the first part; made into a Quote when shown."""
_ORDER = itemgetter(0)

SingleSignal = tuple[Mined, Signal]
"""The only signal of its pattern so far, with its session."""


class Tally:
    """Signals added up."""

    __slots__ = (
        "about",
        "abouts",
        "counts",
        "first",
        "last",
        "locus",
        "minutes",
        "pattern",
        "patterns",
        "quotes",
        "rules",
        "tried",
        "type",
        "usd",
    )

    def __init__(self, signal: Signal) -> None:
        self.pattern = signal.pattern
        self.type: SignalType = signal.type
        self.locus, self.about = signal.locus, signal.about
        self.counts: dict[int, int] = {}  # by session
        self.tried: set[int] | None = None
        self.patterns: list[str] = []  # ids of the signals that are counted here
        self.usd: float | None = None
        self.minutes = 0.0
        self.first: int | None = None
        self.last: int | None = None
        self.quotes: dict[str, list[_Quoted]] = {}  # by flavour, newest first
        self.rules: dict[str, int] = {}  # what to write down, to how often it was worded so
        self.abouts: dict[str, int] = {}  # problems that a cure with a rule helped against

    def add(self, mined: Mined, signal: Signal) -> None:
        """Add a signal of a session."""
        owner, count, counts = mined.counts_as, signal.count, self.counts
        counts[owner] = counts.get(owner, 0) + count
        if signal.tried:
            self.tried = self.tried or set()
            self.tried.add(owner)
        if not count:
            return
        if signal.rule:
            self.rules[signal.rule] = self.rules.get(signal.rule, 0) + count
            if signal.about:
                self.abouts[signal.about] = self.abouts.get(signal.about, 0) + count
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
            age = -(at or 0)
            # Skip quotes older than every quote already kept: most sessions come newest first.
            if len(quotes) < QUOTES or age <= quotes[-1][0][0]:
                _keep(quotes, ((age, mined.external_id, signal.quote), signal.seq, at))

    def rename(self, locus: str) -> None:
        """Take the locus of a near duplicate; for a cure, that of its problem."""
        if locus == (self.about or self.locus):
            return
        if self.about:
            self.about = locus
        else:
            self.locus = locus
        self.pattern = pattern_id(self.type, self.locus, self.about)

    def take_name(self, pattern: str, locus: str) -> None:
        """Go by the name of one of the signals that are counted here."""
        self.pattern, self.locus = pattern, locus
        problems = _most_common(self.abouts)
        self.about = problems[0] if problems else ""

    def join(self, other: Tally) -> None:
        """Add the totals of a near duplicate."""
        for owner, count in other.counts.items():
            self.counts[owner] = self.counts.get(owner, 0) + count
        if other.tried:
            self.tried = other.tried | (self.tried or set())
        self.patterns += other.patterns
        for mine, theirs in ((self.rules, other.rules), (self.abouts, other.abouts)):
            for name, count in theirs.items():
                mine[name] = mine.get(name, 0) + count
        if other.usd is not None:
            self.usd = (self.usd or 0.0) + other.usd
        self.minutes += other.minutes
        if other.first is not None:
            self.first = other.first if self.first is None else min(self.first, other.first)
        if other.last is not None:
            self.last = other.last if self.last is None else max(self.last, other.last)
        for flavor, quotes in other.quotes.items():
            for quoted in quotes:
                _keep(self.quotes.setdefault(flavor, []), quoted)

    def candidate(self, sessions: Mapping[int, FlavorAndRepo]) -> Candidate:
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
            rule=next(iter(_most_common(self.rules)), ""),
            problems=tuple(_most_common(self.abouts)),
        )


def start_tally(single: SingleSignal) -> Tally:
    """A tally of one signal."""
    mined, signal = single
    tally = Tally(signal)
    if signal.count:
        tally.patterns.append(signal.pattern)
    tally.add(mined, signal)
    return tally


def _most_common(counts: Mapping[str, int]) -> list[str]:
    return sorted(counts, key=lambda name: (-counts[name], len(name), name))


def _keep(quotes: list[_Quoted], quoted: _Quoted) -> None:
    """Add a quote if it is among the newest."""
    if len(quotes) < QUOTES:
        insort(quotes, quoted, key=_ORDER)
    elif quoted[0] < quotes[-1][0]:
        quotes.pop()
        insort(quotes, quoted, key=_ORDER)


def _best(quotes: Mapping[str, list[_Quoted]]) -> Iterator[Quote]:
    """The newest quote of every flavour, then the second of each, without repeated texts."""
    shown: set[str] = set()
    for rank in range(QUOTES):
        for flavor in sorted(quotes):
            if rank < len(quotes[flavor]):
                (_, session, text), seq, at = quotes[flavor][rank]
                if text not in shown:
                    shown.add(text)
                    yield Quote(session, flavor, seq, text, at)
