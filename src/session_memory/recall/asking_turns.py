"""Ranks turns that ask a question a little lower than turns that answer one.

Who asks the same question again shares most words with it, but looks for what was answered.
Measured in docs/measurements.md; the index holds no text, so only the best hits are looked at.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from session_memory.core.schema import SessionEvent
from session_memory.errors import NotFound
from session_memory.store.port import RecallStore
from session_memory.store.search_rank import Hit, varied

LOOKED_AT = 30
"""The same number for every page of an answer, so that none repeats what another showed."""
ASKING = 0.85
"""What of its score a turn keeps that ends with a question mark."""
MARKS = ("?", "？", "؟")


def answers_first(store: RecallStore, hits: Sequence[Hit]) -> list[Hit]:
    """The same hits, those that ask a little lower."""
    best = hits[:LOOKED_AT]
    wanted = [hit.event for hit in best if hit.event is not None]
    asking = {event.id for event in store.scopes.events(wanted) if _asks(store, event)}
    if not asking:
        return list(hits)
    lowered = [
        msgspec.structs.replace(hit, score=hit.score * ASKING) if hit.event in asking else hit
        for hit in best
    ]
    everything = [*lowered, *hits[LOOKED_AT:]]
    return varied(sorted(everything, key=lambda hit: (-hit.score, -(hit.event or 0))))


def _asks(store: RecallStore, event: SessionEvent) -> bool:
    if event.kind not in ("user_prompt", "assistant_text"):
        return False
    try:
        return store.text(event).rstrip().endswith(MARKS)
    except NotFound:  # evicted meanwhile
        return False
