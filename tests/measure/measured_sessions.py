"""Builders of measured sessions: timelines in which a signal shows at a given rate."""

from __future__ import annotations

import random

from session_memory.core.loop.givings import Given
from session_memory.core.loop.patterns import Signal
from session_memory.measure.effect import Subject
from session_memory.measure.metrics import MeasuredSession, Watch
from session_memory.settings import Measure

DAY = 86_400_000
SINCE = 1_800_000_000_000
NOW = SINCE + 60 * DAY
SIGNAL = Signal("p1", "failing_command", "npm test", quote="npm test")
WATCH = Watch(frozenset({"p1"}), "fewer")
SUBJECT = Subject("p1", 1, WATCH)
POLICY = Measure(min_sessions=20, min_effect=0.3)
GIVEN = (Given("p1", 1, "shop", SINCE),)


def session(
    name: str, began: int, shows: bool, repo: str = "shop", **more: object
) -> MeasuredSession:
    """One session of an hour."""
    given: dict[str, object] = {"outcome": "fail" if shows else "success", "usd": 1.0, **more}
    signals = (SIGNAL,) if shows else ()
    place = ("claude", name, repo, "work")
    return MeasuredSession(*place, began, began + 3_600_000, signals, minutes=10.0, **given)  # type: ignore[arg-type]


def row(
    count: int, hits: int, *, after: bool, repo: str = "shop", **more: object
) -> list[MeasuredSession]:
    """`count` sessions, spread evenly over 60 days, of which `hits` show the signal, evenly too."""
    start, step = (SINCE if after else SINCE - 60 * DAY), 59 * DAY // max(1, count)
    where = f"{repo}-{'after' if after else 'before'}"
    return [
        session(
            f"{where}-{at}",
            start + at * step,
            (at + 1) * hits // count > at * hits // count,
            repo,
            **more,
        )
        for at in range(count)
    ]


def drawn(
    seed: int, count: int, rate: float, *, after: bool, repo: str = "shop"
) -> list[MeasuredSession]:
    """`count` sessions that each show the signal by chance."""
    draw = random.Random(f"{seed}-{after}-{repo}").random
    start, step = (SINCE if after else SINCE - 60 * DAY), 59 * DAY // count
    return [
        session(f"{repo}-{after}-{at}", start + at * step, draw() < rate, repo)
        for at in range(count)
    ]
