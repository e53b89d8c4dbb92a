"""A workspace of its own for every test of the page."""

from __future__ import annotations

from pathlib import Path

import pytest

from session_memory.testing.workspace import Workspace


@pytest.fixture
def space(tmp_path: Path) -> Workspace:
    return Workspace(tmp_path)
