"""Takes the signals of every digest that is new or has changed, and keeps them with it."""

from __future__ import annotations

from session_memory.detect.loci import forget_some
from session_memory.detect.signals import signals
from session_memory.detect.story import Place
from session_memory.store.patterns import Patterns


def mine(patterns: Patterns) -> int:
    """Mine what was not mined yet; returns how many digests that were."""
    waiting = patterns.unmined()
    for chunk in patterns.minable(waiting):
        patterns.save_signals(
            (one.session, signals(one.digest, Place(one.repo or "", one.roots))) for one in chunk
        )
        forget_some()
    return len(waiting)
