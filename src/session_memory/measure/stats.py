"""Intervals and tests, with the standard library alone; tests compare each with scipy.

Shares are (k, n) counts. Intervals are two-sided at a `level` such as 0.95.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from statistics import NormalDist

import msgspec

from session_memory.core.loop.effects import Interval

Statistic = Callable[[Sequence[float]], float]
_NORMAL = NormalDist()
_TINY = 1e-300


class Share(msgspec.Struct, frozen=True):
    """`k` of `n` sessions."""

    k: int
    n: int

    @property
    def rate(self) -> float:
        """0 where there are no sessions: the interval then says that nothing is known."""
        return self.k / self.n if self.n else 0.0


def quantile(level: float) -> float:
    """How many standard errors a two-sided interval of this level reaches to each side."""
    return _NORMAL.inv_cdf(0.5 + level / 2)


def clopper_pearson(share: Share, level: float = 0.95) -> Interval:
    """The exact interval of a share: never covers less often than it says."""
    k, n, tail = share.k, share.n, (1 - level) / 2
    low = _beta_quantile(tail, k, n - k + 1) if k else 0.0
    high = _beta_quantile(1 - tail, k + 1, n - k) if k < n else 1.0
    return Interval(share.rate, low, high)


def wilson(share: Share, level: float = 0.95) -> Interval:
    """The score interval of a share, the building block of intervals for differences."""
    n, z2 = share.n, quantile(level) ** 2
    if not n:
        return Interval(0.0, 0.0, 1.0)
    middle = (share.k + z2 / 2) / (n + z2)
    half = math.sqrt(z2 * (share.k * (n - share.k) / n + z2 / 4)) / (n + z2)
    low = 0.0 if share.k == 0 else middle - half
    high = 1.0 if share.k == n else middle + half
    return Interval(share.rate, low, high)


def contrast(plus: Sequence[Share], minus: Sequence[Share], level: float = 0.95) -> Interval:
    """Sum of some rates less the sum of others, by squaring and adding score intervals.

    With one on each side this is Newcombe's interval (his method 10) for a difference; with two it
    is the same idea (MOVER) for a difference in differences.
    """
    estimate = sum(interval.rate for interval in plus) - sum(interval.rate for interval in minus)
    down = up = 0.0
    for shares, sign in ((plus, 1), (minus, -1)):
        for share in shares:
            interval = wilson(share, level)
            below, above = interval.estimate - interval.low, interval.high - interval.estimate
            down += (below if sign > 0 else above) ** 2
            up += (above if sign > 0 else below) ** 2
    return Interval(estimate, estimate - math.sqrt(down), estimate + math.sqrt(up))


def fisher(first: Share, second: Share) -> float:
    """Two-sided exact p that two shares are equal: all tables at most as likely as the observed."""
    n, hits = first.n + second.n, first.k + second.k

    def log_chance(k: int) -> float:
        return _log_choose(first.n, k) + _log_choose(second.n, hits - k) - _log_choose(n, hits)

    observed = log_chance(first.k)
    least, most = max(0, hits - second.n), min(first.n, hits)
    chances = (log_chance(k) for k in range(least, most + 1))
    # A small tolerance: equally likely tables differ in the last digits only.
    return min(1.0, math.fsum(math.exp(chance) for chance in chances if chance <= observed + 1e-7))


def mann_whitney(first: Sequence[float], second: Sequence[float]) -> float:
    """Two-sided p of neither being larger; normal approximation with ties and continuity."""
    m, n = len(first), len(second)
    if not m or not n:
        return 1.0
    ranks, ties = _ranks([*first, *second])
    u = math.fsum(ranks[:m]) - m * (m + 1) / 2
    total = m + n
    variance = m * n / 12 * (total + 1 - ties / (total * (total - 1)))
    if variance <= 0:
        return 1.0  # all values are equal
    z = (abs(u - m * n / 2) - 0.5) / math.sqrt(variance)
    return min(1.0, 2 * (1 - _NORMAL.cdf(z)))


def bootstrap_difference(
    first: Sequence[float],
    second: Sequence[float],
    statistic: Statistic,
    *,
    rounds: int = 2000,
) -> Interval:
    """`statistic(first) - statistic(second)` with the 95 % interval of resampling each.

    The generator is seeded, so that the same sessions give the same figures.
    """
    estimate = statistic(first) - statistic(second)
    choose = random.Random(1).choices
    drawn = sorted(
        statistic(choose(first, k=len(first))) - statistic(choose(second, k=len(second)))
        for _ in range(rounds)
    )
    tail = (1 - 0.95) / 2
    low, high = drawn[int(tail * rounds)], drawn[min(rounds - 1, int((1 - tail) * rounds))]
    return Interval(estimate, low, high)


def power(rates: Sequence[float], sizes: Sequence[int], effect: float, level: float) -> float:
    """How often a true effect of that size is seen, by the normal approximation.

    `rates` and `sizes` are those of every group that the contrast adds up.
    """
    variance = sum(rate * (1 - rate) / size for rate, size in zip(rates, sizes, strict=True))
    if variance <= 0:
        return 1.0
    return _NORMAL.cdf(abs(effect) / math.sqrt(variance) - quantile(level))


def _ranks(values: Sequence[float]) -> tuple[list[float], float]:
    """Mean ranks, and what ties take from the variance: the sum of t^3 - t."""
    order = sorted(range(len(values)), key=values.__getitem__)
    ranks, ties, start = [0.0] * len(values), 0.0, 0
    while start < len(order):
        end = start
        while end + 1 < len(order) and values[order[end + 1]] == values[order[start]]:
            end += 1
        for index in order[start : end + 1]:
            ranks[index] = (start + end) / 2 + 1
        size = end - start + 1
        ties += size**3 - size
        start = end + 1
    return ranks, ties


def _log_choose(n: int, k: int) -> float:
    return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)


def _beta_quantile(chance: float, a: float, b: float) -> float:
    """Where the beta distribution reaches a chance; 60 halvings are more than a float holds."""
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        if _beta_below(middle, a, b) < chance:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def _beta_below(x: float, a: float, b: float) -> float:
    """The regularised incomplete beta function."""
    if x <= 0 or x >= 1:
        return float(x >= 1)
    if x > (a + 1) / (a + b + 2):  # the fraction converges on this side of the middle only
        return 1 - _beta_below(1 - x, b, a)
    front = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b)
    front += a * math.log(x) + b * math.log1p(-x)
    return math.exp(front) * _fraction(x, a, b) / a


def _fraction(x: float, a: float, b: float) -> float:
    """The continued fraction of the incomplete beta function, by Lentz's method."""
    c, d = 1.0, 1 / _off_zero(1 - (a + b) * x / (a + 1))
    result = d
    for m in range(1, 10_000):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        step = 1.0
        for term in (even, odd):
            d = 1 / _off_zero(1 + term * d)
            c = _off_zero(1 + term / c)
            step = c * d
            result *= step
        if abs(step - 1) < 1e-15:
            break
    return result


def _off_zero(value: float) -> float:
    return value if abs(value) > _TINY else _TINY
