"""Running the program in this process sets its umask and environment; no other test may see it."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from tests.distribute.conftest import desk
from tests.export.conftest import here
from tests.guards.conftest import user
from tests.ingest.conftest import space
from tests.install.conftest import machine, same_umask
from tests.memory.conftest import bench
from tests.team.conftest import hub, laptop, url

__all__ = [
    "bench",
    "desk",
    "here",
    "hub",
    "laptop",
    "machine",
    "same_umask",
    "space",
    "url",
    "user",
]


@pytest.fixture(autouse=True)
def same_process() -> Iterator[None]:
    """Put the umask and the environment back as they were."""
    umask = os.umask(0o022)
    os.umask(umask)
    environ = dict(os.environ)
    yield
    os.umask(umask)
    for name in os.environ.keys() - environ.keys():
        del os.environ[name]
