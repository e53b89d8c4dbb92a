"""A workspace for every test of the sweep."""

from __future__ import annotations

from pathlib import Path

import pytest

from session_memory.testing.workspace import Workspace


@pytest.fixture
def space(tmp_path: Path) -> Workspace:
    return Workspace(tmp_path)
