"""Two workspaces that share nothing but an export."""

from __future__ import annotations

from pathlib import Path

import pytest

from session_memory.testing.workspace import Workspace


@pytest.fixture
def here(tmp_path: Path) -> Workspace:
    return Workspace(tmp_path / "here")


@pytest.fixture
def there(tmp_path: Path) -> Workspace:
    return Workspace(tmp_path / "there")
