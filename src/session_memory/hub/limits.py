"""How many requests a caller may make: a bucket that fills again, kept by each instance alone."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable

MOST_REMEMBERED = 10_000


class Rate:
    """Allows `burst` requests at once and `per_second` in the long run, for each name."""

    def __init__(
        self, per_second: float, burst: int, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._per_second = per_second
        self._burst = burst
        self._clock = clock
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()
        self._lock = threading.Lock()

    def wait(self, name: str, cost: float = 1.0) -> int:
        """Take one; return 0, or the whole seconds until there is one again."""
        now = self._clock()
        with self._lock:
            left, at = self._left.pop(name, (float(self._burst), now))
            left = min(float(self._burst), left + (now - at) * self._per_second)
            allowed = left >= cost
            self._left[name] = (left - cost if allowed else left, now)
            while len(self._left) > MOST_REMEMBERED:
                self._left.popitem(last=False)
        return 0 if allowed else max(1, round((cost - left) / self._per_second))
