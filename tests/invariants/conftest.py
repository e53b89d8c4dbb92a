"""A workspace for every test of what must hold after anything."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from session_memory.testing import new_stores
from session_memory.testing.workspace import Workspace

ABOUT_LOGS = (
    *("any_way_in", "any_way_rows", "appended", "every_agent", "forgotten_flavors", "injection"),
    *("live", "quoted_exits", "torn", "torn_cursor", "torn_databases", "torn_documents"),
    *("torn_packed", "torn_rows", "overcounts", "own_place", "what_is_asked"),
)
"""Files of tests in which odd logs meet a store that nothing happens to: a copy will do."""


@pytest.fixture(scope="module", autouse=True)
def stores_of_the_program(request: pytest.FixtureRequest) -> Iterator[None]:
    """What must hold after anything holds for a store that the program made itself."""
    with pytest.MonkeyPatch.context() as patch:
        if request.path.stem.removeprefix("test_") not in ABOUT_LOGS:
            patch.setattr(new_stores, "copies", False)
        yield


@pytest.fixture
def space(tmp_path: Path) -> Workspace:
    return Workspace(tmp_path)
