"""A workspace for every test of what must hold after anything."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from session_memory.testing import new_stores
from session_memory.testing.workspace import Workspace


@pytest.fixture(scope="package", autouse=True)
def stores_of_the_program() -> Iterator[None]:
    """What must hold after anything holds for a store that the program made itself."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(new_stores, "copies", False)
        yield


@pytest.fixture
def space(tmp_path: Path) -> Workspace:
    return Workspace(tmp_path)
