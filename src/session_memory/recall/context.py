"""What every question is answered from."""

from __future__ import annotations

import msgspec

from session_memory.clock import Clock
from session_memory.recall.vectors import VectorRanking, open_vectors
from session_memory.settings import Recall as RecallSettings
from session_memory.store.port import Store


class RecallContext(msgspec.Struct, frozen=True):
    """The store, the clock, and how answers are made."""

    store: Store
    clock: Clock
    read_only: bool = False
    """Completion checks leave no record."""
    vectors: VectorRanking | None = None
    """Reorders the events a search finds; only where the user configured word vectors."""


def recall_context(
    store: Store,
    clock: Clock,
    *,
    read_only: bool = False,
    settings: RecallSettings | None = None,
) -> RecallContext:
    """A context with the word vectors that the settings name, if they name any."""
    vectors = None
    if settings is not None and settings.vectors:
        vectors = VectorRanking(open_vectors(settings.vectors), settings.vector_weight)
    return RecallContext(store, clock, read_only, vectors)
