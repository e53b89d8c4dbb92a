"""A journal for each test, and one time zone for all of them."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.journal.compile_journal import Library
from tests.journal.flush_journal import Bench

from session_memory.journal.flush import GUARD


@pytest.fixture(autouse=True)
def zone(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Times in logs are local: these tests are in Kathmandu, 5:45 hours east of Greenwich."""
    monkeypatch.setenv("TZ", "Asia/Kathmandu")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.fixture(autouse=True)
def unmarked(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a flush puts into the environment ends with the test."""
    for name in GUARD:
        monkeypatch.setenv(name, "")
        monkeypatch.delenv(name)


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    """An empty journal."""
    return Bench(tmp_path / "data")


@pytest.fixture
def library(tmp_path: Path) -> Library:
    """A journal without days."""
    return Library(tmp_path / "data")
