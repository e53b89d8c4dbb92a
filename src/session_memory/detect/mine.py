"""Takes the signals of every digest that is new or has changed, and keeps them with it."""

from __future__ import annotations

from collections.abc import Collection

from session_memory.detect.digest_view import Place
from session_memory.detect.loci import forget_some
from session_memory.detect.signals import signals
from session_memory.store.patterns import Patterns


def mine(patterns: Patterns, among: Collection[int] | None = None) -> int:
    """Mine what was not mined yet, of these sessions or of all; returns how many those were."""
    waiting = patterns.unmined(among)
    for chunk in patterns.minable(waiting):
        patterns.save_signals(
            (one.session, signals(one.digest, Place(one.repo or "", one.roots))) for one in chunk
        )
        forget_some()
    return len(waiting)
