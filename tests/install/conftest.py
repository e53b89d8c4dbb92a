"""A machine for each test: an empty home, no programs, and the command line run inside it."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.install.machine import Machine

from session_memory.cli import wiring


@pytest.fixture
def machine(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Machine:
    """A home without agents; PATH is empty, so that no program of the developer's is found."""
    programs = tmp_path / "bin"
    programs.mkdir()
    monkeypatch.setenv("PATH", str(programs))
    monkeypatch.chdir(home)
    monkeypatch.setattr(wiring, "SYSTEM_ROOT", str(tmp_path / "system"))
    return Machine(home, tmp_path / "memory", programs, capsys)
