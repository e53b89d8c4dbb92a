"""What every question is answered from."""

from __future__ import annotations

from pathlib import Path

import msgspec

from session_memory.clock import Clock
from session_memory.store.port import Store


class RecallContext(msgspec.Struct, frozen=True):
    """The store, the clock, and how answers are made."""

    store: Store
    clock: Clock
    read_only: bool = False
    """Completion checks leave no record."""
    data: Path | None = None
    """Where memories and journals are kept; without it, a search does not know them."""
    vault: str = ""
    """The folder that holds the journal of all projects, where the user has one."""
