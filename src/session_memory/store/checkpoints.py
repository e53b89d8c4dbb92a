"""What distilling needs, so that a long session need not be read from its start again."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from session_memory.core.schema import SessionEvent
from session_memory.store.values import Checkpoint


class CheckpointReader(Protocol):
    """Where distilling stood, and what came since."""

    def checkpoint(self, session_id: int) -> Checkpoint | None:
        """Where distilling a session stood, if its events up to there are still the same.

        Those that it does not hold come behind them in source order.
        """
        ...

    def events_to_distil(self, session_id: int, from_seq: int = 0) -> Iterator[SessionEvent]:
        """Live events numbered from there on, in source order, with their texts.

        Without tokens and pairing, which no digest is made of.
        """
        ...
