"""A disk without any room left: a small file system of its own for each part.

Mounting one needs rights that not every machine gives; test_database_full_disk.py needs none.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest
from tests.hub.content import content, miscounted
from tests.hub.team import Team
from tests.hub.test_erase_faults import Served
from tests.team.laptop import Laptop

from session_memory.core.sharing import wire
from session_memory.hub import schema
from session_memory.hub.app import Hub
from session_memory.hub.database import open_pool
from session_memory.hub.objects import Texts, open_objects
from session_memory.testing.postgres_server import PostgresServer

pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or os.geteuid() != 0, reason="only root on Linux can mount a disk"
)


class Disk:
    """A file system of a few megabytes."""

    def __init__(self, size: str) -> None:
        # PostgreSQL runs as another user, who cannot reach what pytest makes.
        self.place = Path(tempfile.mkdtemp(prefix="sm-disk-", dir="/tmp"))
        self._mount("mode=755,size=" + size)

    def _mount(self, options: str) -> None:
        done = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", options, "tmpfs", self.place],
            check=False, capture_output=True, text=True,
        )  # fmt: skip
        if done.returncode:
            pytest.skip(f"this machine lets nobody mount a disk: {done.stderr.strip()}")

    def fill(self) -> None:
        """Leave no room at all."""
        with (self.place / "filler").open("wb", buffering=0) as filler:
            for size in (65_536, 4_096, 1):
                try:
                    while True:
                        filler.write(b"x" * size)
                except OSError:
                    continue

    def free(self) -> None:
        (self.place / "filler").unlink()

    def close(self) -> None:
        subprocess.run(["umount", "-l", self.place], check=True)
        self.place.rmdir()


@pytest.fixture
def disk() -> Iterator[Callable[[str], Disk]]:
    made: list[Disk] = []

    def make(size: str) -> Disk:
        made.append(Disk(size))
        return made[-1]

    yield make
    for each in made:
        each.close()


@pytest.mark.rows("HUB-23")
def test_objects_without_room_refuse_texts_and_take_them_later(
    database: str, disk: Callable[[str], Disk], tmp_path: Path
) -> None:
    small = disk("1m")
    texts = Texts(open_objects(str(small.place / "texts")), open_objects(str(tmp_path / "keys")))
    with open_pool(database, size=4) as pool:
        ann = Team(Hub(pool, texts)).device("Ann")
        ann.share()
        assert ann.push(ann.events("s", "hello world")).taken == 1
        large = ann.batch(ann.events("t", "x" * 300_000), ann.item("rule", "r", "use uv"))
        before = content(database)
        small.fill()
        refused = ann.post("/v1/push", large)
        assert (refused.status, refused.code) == (503, "unavailable")
        assert content(database) == before
        assert [hit.text for hit in ann.search("hello")] == ["hello world"]
        small.free()
        assert ann.post("/v1/push", large).value(wire.Pushed).taken == 2


@pytest.mark.rows("HUB-23")
def test_a_database_without_room_refuses_a_push_whole_and_takes_it_later(
    disk: Callable[[str], Disk], tmp_path: Path
) -> None:
    small = disk("600m")
    server = PostgresServer(directory=small.place)
    try:
        with psycopg.connect(server.url(), autocommit=True) as connection:
            connection.execute("CREATE DATABASE hub")
        schema.make(server.url("hub"))
        database = server.url("hub", schema.DEFAULT_ROLE)
        texts = Texts(open_objects(str(tmp_path / "texts")), open_objects(str(tmp_path / "keys")))
        with open_pool(database, size=4) as pool:
            ann = Team(Hub(pool, texts)).device("Ann")
            ann.share()
            assert ann.push(ann.events("s", "hello world")).taken == 1
            words = " ".join(f"w{n}" for n in range(3_400))
            large = ann.batch(*(ann.events(f"t{n}", f"{words} {n}") for n in range(30)))
            before = content(database)
            small.fill()
            refused = ann.post("/v1/push", large)
            assert (refused.status, refused.code) == (503, "unavailable")
            small.free()
            if not server._answers():  # it may stop where its journal has no room
                server.start()
            assert content(database) == before
            answers = [ann.post("/v1/push", large) for _ in range(3)]
            taken = [one.value(wire.Pushed).taken for one in answers if one.status == 200]
            assert taken[0] == 30
            assert set(taken[1:]) == {0}
            assert miscounted(database) == []
    finally:
        server.close()


@pytest.mark.rows("HUB-23")
def test_a_laptop_without_room_pushes_nothing_twice_and_everything_later(
    team: Team, database: str, disk: Callable[[str], Disk], tmp_path: Path
) -> None:
    served = Served(database, tmp_path)
    small = disk("30m")
    try:
        ada = Laptop(small.place / "ada", "ada", served.address)
        ada.worked(ada.cured(1, "pip install ada"))
        ada.do("team", "join", served.address, team.invite(), "--name", "ada")
        ada.share("sessions")
        small.fill()
        refused = ada.do("team", "push", code=None)
        assert refused.returncode != 0
        small.free()
        ada.do("team", "push")
        assert ada.read("team", "push")["projects"][0]["unchanged"]
        kinds = [row[2] for row in content(database)["items"]]
        assert kinds.count("session") == kinds.count("events") == 1
        assert miscounted(database) == []
    finally:
        served.kill()
