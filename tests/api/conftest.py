"""A store with the sample sessions, which is the one this user is set up with."""

from __future__ import annotations

from pathlib import Path

import pytest

from session_memory.settings.load import variable
from session_memory.testing.samples import write_samples
from session_memory.testing.workspace import Workspace


@pytest.fixture
def space(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Workspace:
    built = Workspace(tmp_path / "space")
    write_samples(built.claude)
    built.sweep()
    monkeypatch.setenv(variable("store.path"), str(built.store_directory))
    return built
