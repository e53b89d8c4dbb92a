"""What tests of the command line take from the tests of other folders."""

from __future__ import annotations

from tests.distribute.conftest import desk
from tests.export.conftest import here
from tests.guards.conftest import user
from tests.ingest.conftest import space
from tests.install.conftest import machine
from tests.memory.conftest import bench
from tests.team.conftest import hub, laptop, url

__all__ = [
    "bench",
    "desk",
    "here",
    "hub",
    "laptop",
    "machine",
    "space",
    "url",
    "user",
]
