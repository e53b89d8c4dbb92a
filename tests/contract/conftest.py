"""The implementations of `Store`: every test of this folder runs on each of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Protocol

import pytest

from session_memory.store import open_store
from session_memory.store.port import Store
from session_memory.testing.new_stores import open_or_create
from session_memory.testing.store_drafts import START


class StoreFactory(Protocol):
    """Opens the store of a name, making it if new; the same name again is the same store."""

    def __call__(self, name: str = "store", *, read_only: bool = False) -> Store: ...


def _embedded(directory: Path, read_only: bool) -> Store:
    if read_only:
        return open_store(str(directory), START, read_only=True)
    return open_or_create(str(directory), START)


IMPLEMENTATIONS: dict[str, Callable[[Path, bool], Store]] = {"sqlite": _embedded}


@pytest.fixture(params=sorted(IMPLEMENTATIONS))
def store_factory(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[StoreFactory]:
    opened: list[Store] = []

    def make(name: str = "store", *, read_only: bool = False) -> Store:
        store = IMPLEMENTATIONS[request.param](tmp_path / name, read_only)
        opened.append(store)
        return store

    yield make
    for store in opened:
        store.close()


@pytest.fixture
def store(store_factory: StoreFactory) -> Store:
    return store_factory()
