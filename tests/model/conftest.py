"""The store every test of this folder may spend from."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.model.meters import NOW

from session_memory.store.port import Store
from session_memory.testing.new_stores import open_or_create


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """A new store."""
    with open_or_create(str(tmp_path / "store"), NOW) as opened:
        yield opened
