"""A fleet in this process: what a cluster does, without one. Everything travels as bytes too."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from session_memory.core.loop.patterns import Candidate
from session_memory.detect.run import DetectQuery, detect
from session_memory.fleet.dataset import Dataset
from session_memory.fleet.detect import FleetQuery, Mined, Places, detect_all, mine_all
from session_memory.fleet.export import Written, export_store
from session_memory.store import open_store
from session_memory.testing.workspace import NOW, Workspace


class Inline:
    """Stands for `fleet.engine.Engine`; `shares` are as small as they can be."""

    shuffled = 0

    def map(self, _what: str, task: Callable[..., Any], calls: Sequence[tuple[Any, ...]]) -> Any:
        """Call one after the other; what comes first is nowhere promised."""
        for arguments in reversed(calls):
            yield pickle.loads(pickle.dumps(task(*pickle.loads(pickle.dumps(arguments)))))

    def shares(self, parts: Sequence[str]) -> list[list[str]]:
        """One part each."""
        return [[part] for part in parts]


def exported(space: Workspace, to: Path, *, events: bool = False, signals: bool = False) -> Written:
    """The store of a workspace, as Parquet."""
    with open_store(str(space.store_directory), NOW) as store:
        return export_store(store, Dataset(str(to)), events=events, signals=signals)


def mined(folder: Path) -> Mined:
    """A fleet of one, with everything mined."""
    return mine_all(Inline(), Places(str(folder), str(folder)))


def by_fleet(folder: Path, query: FleetQuery | None = None) -> list[Candidate]:
    """What a fleet detects."""
    return detect_all(mined(folder), query or FleetQuery(), NOW)


def locally(space: Workspace, query: DetectQuery | None = None) -> list[Candidate]:
    """What the local command detects; nothing is saved."""
    with open_store(str(space.store_directory), NOW) as store:
        query = query or DetectQuery()
        if query.since is None and query.repo is None:
            query = DetectQuery(query.min_frequency, -(10**15))  # a filter: candidates stay as is
        return detect(store.patterns, query, NOW)
