"""A store on disk, and the ways in which tests break it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.recall.conftest import memory

from session_memory.store.sqlite import SqliteStore, open_store
from session_memory.testing.store_drafts import START

__all__ = ["memory"]


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    """Where the store is."""
    return tmp_path / "store"


@pytest.fixture
def store(directory: Path) -> Iterator[SqliteStore]:
    with open_store(str(directory), START, create_missing=True) as opened:
        yield opened
