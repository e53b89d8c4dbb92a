"""Asking again after failures that pass: how often, how long to wait, and when it is no use.

A loop of our own, since waiting must go through a parameter: a test of three attempts takes no time
and sees the exact delays.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import msgspec

from session_memory.errors import BudgetSpent, ModelFailed, ModelUnavailable
from session_memory.model.failures import CallFailed
from session_memory.model.port import Answer, Provider, Request

Sleep = Callable[[float], None]
LONGEST_WAIT_S = 60.0


def _nothing(_attempt: int, _error: ModelUnavailable) -> None:
    """Nobody wants to hear of failed attempts."""


class Patience(msgspec.Struct, frozen=True):
    """How often to ask and how long to wait in between; the last delay holds for all later ones."""

    attempts: int = 3
    delays: tuple[float, ...] = (2.0, 4.0)
    sleep: Sleep = time.sleep
    any_failure: bool = False
    """Ask again after an empty, refused or cut answer too, not only after what passes by itself."""
    failed: Callable[[int, ModelUnavailable], None] = _nothing
    """Told of every failed attempt, the last one included, with its number from 1."""


def ask(model: Provider, request: Request, patience: Patience | None = None) -> Answer:
    """One answer, after a few attempts where that can help; each is a call of its own."""
    patience = patience or Patience()
    attempt = 0
    while True:
        attempt += 1
        try:
            return model.ask(request)
        except BudgetSpent:
            raise
        except ModelUnavailable as error:
            patience.failed(attempt, error)
            if attempt >= patience.attempts or not _may_help(error, patience):
                raise
            patience.sleep(_wait(attempt, error, patience.delays))


def _may_help(error: ModelUnavailable, patience: Patience) -> bool:
    if isinstance(error, CallFailed):
        return error.transient or (patience.any_failure and error.kind != "rejected")
    return patience.any_failure and isinstance(error, ModelFailed)


def _wait(attempt: int, error: ModelUnavailable, delays: tuple[float, ...]) -> float:
    planned = delays[min(attempt, len(delays)) - 1] if delays else 0.0
    asked = error.retry_after if isinstance(error, CallFailed) else None
    # A server may ask for more patience than planned, though not for more than a worker has.
    return planned if asked is None else min(max(planned, asked), LONGEST_WAIT_S)
