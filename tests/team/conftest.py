"""A hub in memory, and machines of people that know it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.team.laptop import Laptop
from tests.team.model_hub import ModelHub, served

MakeLaptop = Callable[[str], Laptop]


@pytest.fixture
def hub() -> ModelHub:
    """An empty hub."""
    return ModelHub()


@pytest.fixture
def url(hub: ModelHub) -> Iterator[str]:
    """Where it listens."""
    with served(hub) as address:
        yield address


@pytest.fixture
def laptop(tmp_path: Path, url: str) -> MakeLaptop:
    """Makes a person's machine."""
    return lambda name: Laptop(tmp_path / name, name, url)
