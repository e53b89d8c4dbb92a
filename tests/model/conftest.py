"""The store every test of this folder may spend from."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.model.meters import NOW

from session_memory.store import open_store
from session_memory.store.port import Store


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """A new store."""
    with open_store(str(tmp_path / "store"), NOW, create_missing=True) as opened:
        yield opened
