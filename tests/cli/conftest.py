"""Running the program in this process sets its umask; no other test may inherit that."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def same_umask() -> Iterator[None]:
    """Put the umask back as it was."""
    before = os.umask(0o022)
    os.umask(before)
    yield
    os.umask(before)
