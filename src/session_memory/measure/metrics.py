"""The sessions that are measured, and the figures of a group of them.

Only sessions that a person ran are measured. Sub-agents depend on the session they work for and are
not given anything themselves, so their signals and costs count for it. Sessions of low value and
our own are left out: nothing was asked for in them, so they would make every rate look better.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Mapping, Sequence
from math import fsum
from statistics import median

import msgspec

from session_memory.core.digest import DIGEST_VERSION
from session_memory.core.loop.effects import Better, Figures
from session_memory.core.loop.patterns import Mined, Signal, SignalType
from session_memory.core.schema import Session
from session_memory.measure.stats import Share, clopper_pearson

OTHER_VERSION = "distilled by another version"
"""Why a session is left out if its digest, or that of a sub-agent, is not comparable."""
ACTIVE_S = 30.0
"""An event stands for at most this long: a night between two prompts is not work."""
_CURABLE: frozenset[SignalType] = frozenset(
    ("recurring_error", "missing_tool", "wrong_directory", "failing_command")
)


class MeasuredSession(msgspec.Struct, frozen=True):
    """One session: where, when, what it showed, how it ended and what it took."""

    flavor: str
    name: str
    """The agent's own id; the hook assigned the arm by it."""
    repo: str | None
    domain: str | None
    began: int
    ended: int
    signals: tuple[Signal, ...] = ()
    outcome: str | None = None
    usd: float | None = None
    minutes: float | None = None


class Units(msgspec.Struct, frozen=True):
    """Every session worth measuring in order of time, and how many were not, by reason."""

    sessions: tuple[MeasuredSession, ...]
    left_out: dict[str, int]


class Watch(msgspec.Struct, frozen=True):
    """What is looked for in a session to know whether a pattern's signal recurred."""

    names: frozenset[str]
    """The pattern's id, and those of near duplicates counted under it."""
    better: Better
    problems: frozenset[str] | None = None
    """For a cure: the problems it is tried on; only sessions that met one can show it."""

    def applies(self, session: MeasuredSession) -> bool:
        """Whether the session could show the signal at all."""
        return self.problems is None or any(
            signal.pattern in self.names
            or (signal.type in _CURABLE and signal.locus in self.problems)
            for signal in session.signals
        )

    def shows(self, session: MeasuredSession) -> bool:
        """Whether it did. A cure that did not work has a count of 0."""
        return any(signal.pattern in self.names and signal.count for signal in session.signals)


def find_units(
    sessions: Iterable[Session],
    mined: Iterable[Mined],
    outcomes: Mapping[int, str],
    versions: Mapping[int, int],
) -> Units:
    """The sessions worth measuring, with what their sub-agents met and cost.

    `versions` says which DIGEST_VERSION made each digest. Only those of the current one are
    compared: a better distiller finds other signals in the very same session.
    """
    left_out: Counter[str] = Counter()
    measurable: dict[int, Session] = {}
    costs: dict[int, list[float]] = {}
    everyone = {session.id: session for session in sessions}
    for session in everyone.values():
        if session.cost.usd is not None:
            owner = _owner(everyone, session)
            costs.setdefault(owner, []).append(session.cost.usd)
        reason = _reason(session)
        if reason is None:
            measurable[session.id] = session
        else:
            left_out[reason] += 1
    signals: dict[int, list[Signal]] = {}
    outdated: set[int] = set()
    for session_signals in mined:
        signals.setdefault(session_signals.counts_as, []).extend(session_signals.signals)
        if versions.get(session_signals.session) != DIGEST_VERSION:
            outdated.add(session_signals.counts_as)
    left_out["not analyzed yet"] += len(measurable.keys() - signals.keys())
    left_out[OTHER_VERSION] += len(measurable.keys() & outdated)
    measured = [
        _measured(measurable[number], tuple(own), outcomes.get(number), costs.get(number))
        for number, own in signals.items()
        if number in measurable and number not in outdated
    ]
    return join_units([Units(tuple(measured), left_out)])


def join_units(parts: Iterable[Units]) -> Units:
    """Units of several parts, in order of time."""
    sessions: list[MeasuredSession] = []
    left_out: Counter[str] = Counter()
    for part in parts:
        sessions += part.sessions
        left_out.update(part.left_out)
    counts = {reason: count for reason, count in sorted(left_out.items()) if count}
    return Units(tuple(sorted(sessions, key=lambda s: (s.began, s.flavor, s.name))), counts)


def watched_signals(
    signals: Iterable[Signal], names: Container[str], problems: Container[str]
) -> tuple[Signal, ...]:
    """The signals that any of these patterns watches; see `Watch`."""
    return tuple(
        signal
        for signal in signals
        if signal.pattern in names or (signal.type in _CURABLE and signal.locus in problems)
    )


def _reason(session: Session) -> str | None:
    if session.parent_external_id is not None or session.source_kind == "subagent":
        return "sub-agent"
    if session.source_kind == "internal":
        return "our own"
    if session.low_value is not None:
        return "low value"
    if session.started_at is None or session.ended_at is None:
        return "no time known"
    return None


def _owner(sessions: Mapping[int, Session], session: Session) -> int:
    """The session at the top of a tree of sub-agents."""
    for _ in range(16):  # a damaged log may name a circle
        parent = None if session.parent_id is None else sessions.get(session.parent_id)
        if parent is None:
            break
        session = parent
    return session.id


def _measured(
    session: Session, signals: tuple[Signal, ...], outcome: str | None, usd: list[float] | None
) -> MeasuredSession:
    began, ended = session.started_at or 0, session.ended_at or 0
    active = min((ended - began) / 1000, ACTIVE_S * session.event_count) / 60
    return MeasuredSession(
        flavor=session.flavor,
        name=session.external_id,
        repo=session.project_key,
        domain=session.domain,
        began=began,
        ended=ended,
        signals=signals,
        outcome=outcome,
        usd=fsum(usd) if usd else None,  # the same in any order
        minutes=max(0.0, active),
    )


def watch(
    pattern_id: str, kind: str, aliases: Iterable[str], sessions: Iterable[MeasuredSession]
) -> Watch:
    """What to look for; a cure's problems are read from the sessions that tried it."""
    names = frozenset((pattern_id, *aliases))
    signals = [signal for s in sessions for signal in s.signals if signal.pattern in names]
    is_cure = any(signal.type == "cure" for signal in signals)
    problems = frozenset(signal.about for signal in signals) if is_cure else None
    return Watch(names, "more" if kind == "success" else "fewer", problems)


def recurrence(sessions: Sequence[MeasuredSession], watched: Watch) -> Share:
    """In how many of the sessions the signal showed."""
    return Share(sum(map(watched.shows, sessions)), len(sessions))


def success(sessions: Iterable[MeasuredSession]) -> Share:
    """How many went well among those whose outcome is known."""
    decided = [s.outcome for s in sessions if s.outcome in ("success", "partial", "fail")]
    return Share(decided.count("success"), len(decided))


def figures(sessions: Sequence[MeasuredSession], watched: Watch) -> Figures:
    """One group in numbers."""
    shown, ended_well = recurrence(sessions, watched), success(sessions)
    usd = [s.usd for s in sessions if s.usd is not None]
    minutes = [s.minutes for s in sessions if s.minutes is not None]
    return Figures(
        sessions=shown.n,
        recurred=shown.k,
        rate=clopper_pearson(shown),
        decided=ended_well.n,
        succeeded=ended_well.k,
        usd=median(usd) if usd else None,
        minutes=median(minutes) if minutes else None,
    )
