"""Two projects with known words in the store that a server of this test would open."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from tests.mcp.clients import LocalServer
from tests.recall.store_builder import HOUR, ROOT, Memory
from tests.team.conftest import hub, laptop, url

from session_memory.core.project.identity import Resolution

__all__ = ["hub", "laptop", "url"]

OTHER = Resolution(key="other", root="/work/other", source="cwd:.git", confidence="high")


class Known(NamedTuple):
    """Sessions of the store below: two of `shop`, one of `other`."""

    memory: Memory
    cart: int
    mail: int
    foreign: int


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    made = Memory(tmp_path / "memory" / "data")
    yield made
    made.close()


class KnownStore(NamedTuple):
    """The finished store, closed: every test opens a copy, so none sees what another wrote."""

    directory: Path
    sessions: tuple[int, int, int]


@pytest.fixture(scope="session")
def known_store(tmp_path_factory: pytest.TempPathFactory) -> KnownStore:
    memory = Memory(tmp_path_factory.mktemp("known") / "data")
    cart = memory.session(
        "ext-cart",
        ("user_request", "Fix the discount"),
        ("pending_item", "cart: round totals"),
        ("decision", "cart: money is whole cents"),
        cwd=f"{ROOT}/cart",
    )
    mail = memory.session(
        "ext-mail",
        ("user_request", "Send receipts"),
        ("pending_item", "mail: add a footer"),
        cwd=f"{ROOT}/mailer",
        at=HOUR,
    )
    foreign = memory.session(
        "ext-foreign",
        ("user_request", "Paint the hangar"),
        ("pending_item", "hangar: buy green paint"),
        cwd="/work/other",
        project=OTHER,
        at=2 * HOUR,
    )
    memory.close()
    return KnownStore(memory.directory, (cart, mail, foreign))


@pytest.fixture
def known(known_store: KnownStore, tmp_path: Path) -> Iterator[Known]:
    directory = tmp_path / "memory" / "data"
    shutil.copytree(known_store.directory, directory)
    made = Memory(directory)
    yield Known(made, *known_store.sessions)
    made.close()


@pytest.fixture
def server(known: Known) -> Iterator[LocalServer]:
    made = LocalServer(clock=lambda: known.memory.now)
    yield made
    made.close()
