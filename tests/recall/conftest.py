"""A store for questions about scopes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.recall.store_builder import Memory


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    made = Memory(tmp_path / "store")
    yield made
    made.close()
