"""Two workspaces that share nothing but an export, and the umask put back after every run."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from session_memory.testing.workspace import Workspace


@pytest.fixture(autouse=True)
def same_umask() -> Iterator[None]:
    before = os.umask(0o022)
    os.umask(before)
    yield
    os.umask(before)


@pytest.fixture
def here(tmp_path: Path) -> Workspace:
    return Workspace(tmp_path / "here")


@pytest.fixture
def there(tmp_path: Path) -> Workspace:
    return Workspace(tmp_path / "there")
