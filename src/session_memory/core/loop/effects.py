"""What measuring says of a pattern: figures of each group, how they differ, and the verdict.

Numbers only: no word of a session stands in an effect, so forgetting sessions leaves it as it is.
"""

from __future__ import annotations

from typing import Literal

import msgspec

Verdict = Literal["improved", "no_effect", "regressed", "insufficient_data"]
Method = Literal["before_after", "trial"]
Better = Literal["fewer", "more"]
"""Whether a pattern does good when its signal shows less (trouble) or more often (success)."""

RETIRING: frozenset[Verdict] = frozenset({"no_effect", "regressed"})


class Interval(msgspec.Struct, frozen=True):
    """An estimate and the range that the data leaves open."""

    estimate: float
    low: float
    high: float


class Figures(msgspec.Struct, frozen=True):
    """One group of sessions in numbers."""

    sessions: int
    recurred: int
    """Sessions in which the signal showed."""
    rate: Interval
    """Of recurrence, with its exact interval."""
    decided: int
    """Sessions whose outcome is known to be a success or a failure."""
    succeeded: int
    usd: float | None
    """Median of the sessions that have a price."""
    minutes: float | None
    """Median of active minutes."""


class Change(msgspec.Struct, frozen=True):
    """How a second measure differs between the two groups; it decides nothing."""

    what: Literal["usd", "minutes", "success"]
    difference: Interval
    p: float
    sessions: tuple[int, int]


class Effect(msgspec.Struct, frozen=True):
    """What one version of a pattern changed, by one method."""

    pattern_id: str
    version: int
    method: Method
    verdict: Verdict
    measured_at: int
    since: int
    better: Better
    groups: dict[str, Figures]
    """before, after and, where there are untouched repositories, both of theirs; or given, held."""
    difference: Interval | None = None
    """Of the rates; a difference in differences where there is a control."""
    level: float = 0.95
    """Of that interval, higher than 95 percent, since data is looked at again and again."""
    p: float | None = None
    """Fisher's exact test of the two groups alone; shown with the verdict, not used for it."""
    look: int = 0
    """How often enough data came together for a look; 0 where it never did."""
    minimum: float = 0.0
    """The smallest difference of rates that is worth having, here."""
    needs: int | None = None
    """How many more sessions a verdict probably needs; None with a verdict, or if none suffice."""
    left_out: dict[str, int] = {}
    """Sessions that were not counted, by reason."""
    caveats: tuple[str, ...] = ()
    changes: tuple[Change, ...] = ()
    digest_version: int = 0
    """The DIGEST_VERSION of every session compared; 0 in effects measured before it was noted."""

    @property
    def retires(self) -> bool:
        """Whether a person should be asked to take the pattern out of use."""
        return self.verdict in RETIRING
