"""How verbs open the store: as late as possible, always closed, with clear errors."""

from __future__ import annotations

import os
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from session_memory.cli.app import App
from session_memory.store import open_store, store_exists
from session_memory.store.damage import absent
from session_memory.store.lock import exclusive
from session_memory.store.unfinished import marked

if TYPE_CHECKING:
    from session_memory.ingest.context import SweepContext
    from session_memory.store.port import Store


@contextmanager
def reading(app: App) -> Generator[Store]:
    """The store, for a verb that only reads; with `--store URL`, a hub."""
    if app.hub_url is not None:
        from session_memory.cli.hub_store import open_hub

        with open_hub(app, app.hub_url) as hub:
            yield hub
        return
    # On a disk that cannot be written a store can still be searched.
    directory = str(app.paths.data)
    read_only = store_exists(app.paths.data) and not os.access(directory, os.W_OK)
    with open_store(directory, app.clock(), read_only=read_only) as store:
        yield store


@contextmanager
def alone(app: App, what: str) -> Generator[Store]:
    """The store while no sweep runs; raises StoreLocked (exit 6) when one does."""
    if not store_exists(app.paths.data):
        raise absent(str(app.paths.data))
    with exclusive(str(app.paths.data / "sweep.lock"), what), reading(app) as store:
        yield store


@contextmanager
def changing(app: App, what: str) -> Generator[Store]:
    """Like `alone`, for a verb that deletes: what it leaves when it is cut off is found again."""
    with alone(app, what) as store, marked(str(app.paths.data)):
        yield store


def sweep_context(app: App) -> SweepContext:
    """Everything a sweep needs, from the command line's context."""
    from session_memory.adapters.registry import adapters_here
    from session_memory.core.project.disk_tree import DiskTree
    from session_memory.ingest.context import SweepContext

    home = str(Path.home())
    configured = [name for name, source in app.config.sources.flavors.items() if source.paths]
    return SweepContext(
        config=app.config,
        adapters=adapters_here(app.environ, home, configured),
        environ=app.environ,
        home=home,
        store_directory=str(app.paths.data),
        tree=DiskTree(),
        clock=app.clock,
        log=app.log,
        verbosity=app.verbosity,
    )
