"""Extracts the signals of every digest that is new or has changed, and stores them with it."""

from __future__ import annotations

from collections.abc import Collection

from session_memory.detect.digest_view import SessionProject
from session_memory.detect.loci import trim_caches
from session_memory.detect.signals import signals
from session_memory.store.loop import Patterns


def mine(patterns: Patterns, among: Collection[int] | None = None) -> int:
    """Mine digests that were not mined yet, of these sessions or of all; returns how many."""
    waiting = patterns.unmined(among)
    for chunk in patterns.minable(waiting):
        patterns.save_signals(
            (row.session, signals(row.digest, SessionProject(row.repo or "", row.roots)))
            for row in chunk
        )
        trim_caches()
    return len(waiting)
