"""What a sweep needs from outside: settings, agents, clock, and how to open the store."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import msgspec

from session_memory.adapters.common import Adapter
from session_memory.clock import Clock
from session_memory.settings import Config

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
    prepare: Callable[[], object]
    """Creates the store's directory, private."""
    open_store: Callable[[], Store]
    """Opens the store, creating it if there is none."""
    peek_store: Callable[[], Store | None]
    """Opens it read-only, or returns None: a dry run must not create one."""
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
