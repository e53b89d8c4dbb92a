"""Asks again after failures that pass: how often, and how long to wait in between.

Our own loop, because `sleep` must be a parameter: tests take no time and see the exact delays.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from session_memory.model.failures import CallFailed, Kind
from session_memory.model.port import Answer, Provider, Request

DELAYS_S = (2.0, 4.0)
"""The wait after each failed attempt but the last."""
LONGEST_WAIT_S = 60.0
RETRIED: frozenset[Kind] = frozenset({"rate_limited", "overloaded", "server", "connection"})
"""Not a timeout: it took its time already and may have been billed; the job comes back later."""


def ask(model: Provider, request: Request, sleep: Callable[[float], None] = time.sleep) -> Answer:
    """One answer, after up to three attempts; each attempt is a metered call of its own."""
    for delay in DELAYS_S:
        try:
            return model.ask(request)
        except CallFailed as error:
            if error.kind not in RETRIED:
                raise
            # A server may ask for a longer wait, but not longer than a worker can afford.
            sleep(
                delay
                if error.retry_after is None
                else min(max(delay, error.retry_after), LONGEST_WAIT_S)
            )
    return model.ask(request)
