"""What a sweep needs from outside: settings, agents, clock, and where the store is."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import msgspec

from session_memory.adapters.common import Adapter
from session_memory.clock import Clock
from session_memory.errors import StoreMissing
from session_memory.settings import Config
from session_memory.store import open_store

if TYPE_CHECKING:
    from session_memory.core.project.path_shape import Tree
    from session_memory.store.port import Store

Progress = Callable[[int, int, str], None]
"""(bytes done, bytes in all, path): called before each file that is read."""
Log = Callable[[str], object]


class SweepContext(msgspec.Struct, frozen=True):
    """Passed down through every step of a sweep."""

    config: Config
    adapters: Mapping[str, Adapter]
    environ: Mapping[str, str]
    home: str
    store_directory: str
    tree: Tree
    clock: Clock
    named: Mapping[str, list[str]] = {}
    """Files to read besides those discovered, per flavour: transcripts that hooks named."""
    progress: Progress = lambda _done, _all, _path: None
    log: Log = lambda _text: None
    """Says what a step does and why something is left out."""
    jobs: int | None = None
    """How many processes may work; None: by the cores and by how much there is to read."""
    verbosity: int = 0
    """From 2 on, files that are skipped are logged too; there may be very many."""

    def open_store(self) -> Store:
        """The store, created if there is none."""
        return open_store(self.store_directory, self.clock(), create_missing=True)

    def open_existing_store(self) -> Store | None:
        """The store, read-only, or None: a dry run must not create one."""
        try:
            return open_store(self.store_directory, self.clock(), read_only=True)
        except StoreMissing:
            return None
