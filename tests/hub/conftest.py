"""A hub in this process, with members whose devices have joined."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from psycopg_pool import base
from tests.hub.team import Team
from tests.servers import *  # noqa: F403  # fixtures
from tests.servers import storage

from session_memory.hub.app import Hub
from session_memory.hub.database import open_pool
from session_memory.hub.objects import Texts, open_objects


@pytest.fixture
def texts(tmp_path: Path) -> Texts:
    """Object storage and vault in directories."""
    objects, vault = storage(tmp_path)
    return Texts(open_objects(objects), open_objects(vault))


@pytest.fixture
def hub(database: str, texts: Texts, monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    """A hub with an empty database."""
    # Else a test that stops the database waits a second or two for the pool to try it again.
    monkeypatch.setattr(base.AttemptWithBackoff, "INITIAL_DELAY", 0.05)
    with open_pool(database, size=8) as pool:
        yield Hub(pool, texts)


@pytest.fixture
def team(hub: Hub) -> Team:
    """The team `acme` on that hub."""
    return Team(hub)
