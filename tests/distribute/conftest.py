"""A desk for every test that runs the program."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.distribute.scenes import Desk


@pytest.fixture(autouse=True)
def same_umask() -> Iterator[None]:
    """The program sets its umask; no other test may inherit that."""
    before = os.umask(0o022)
    os.umask(before)
    yield
    os.umask(before)


@pytest.fixture
def desk(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Desk:
    """The program, in a home of its own."""
    return Desk(tmp_path, capsys, monkeypatch)
