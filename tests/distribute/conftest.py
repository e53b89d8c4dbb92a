"""A desk for every test that runs the program."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.distribute.scenes import Desk


@pytest.fixture
def desk(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Desk:
    """The program, in a home of its own."""
    return Desk(tmp_path, capsys, monkeypatch)
