"""A hub, a database or a storage that ends at any moment loses nothing and doubles nothing."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from tests.hub.content import content, counted, owner_of
from tests.hub.team import Device, Team
from tests.servers import storage

from session_memory.core.sharing import wire
from session_memory.hub.app import Hub
from session_memory.hub.erase import finish
from session_memory.hub.objects import Texts, open_objects
from session_memory.testing.postgres_server import PostgresServer, free_port
from session_memory.testing.s3_server import S3Server

SESSIONS = 6


class Served:
    """`session-memory hub serve` in a process of its own, on a port that it keeps."""

    def __init__(self, database: str, directory: Path, *options: str) -> None:
        self._options = options
        self._environment = {**os.environ, "HUB_DATABASE": database}
        self._objects, self._vault = storage(directory)
        self._port = free_port()
        self.address = f"http://127.0.0.1:{self._port}"
        self.is_up = threading.Event()
        self.process = self.start()

    def start(self) -> subprocess.Popen[str]:
        started = subprocess.Popen(
            [sys.executable, "-m", "session_memory", "hub", "serve", "--port", str(self._port),
             "--objects", self._objects, "--vault", self._vault, *self._options],
            env=self._environment, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        assert started.stdout is not None
        assert started.stdout.readline().startswith("hub at")
        self.is_up.set()
        return started

    def kill(self) -> None:
        self.is_up.clear()
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        assert self.process.stdout is not None
        self.process.stdout.close()


@pytest.fixture
def served(database: str, tmp_path: Path) -> Iterator[Served]:
    server = Served(database, tmp_path)
    yield server
    server.kill()


def batches(device: Device) -> list[wire.Push]:
    """Each batch holds lessons and texts of its own session."""
    return [
        device.batch(
            *(device.item("cure", f"{n}:{m}", f"cure {n} {m}", session=str(n)) for m in range(20)),
            device.events(str(n), *(f"question {n} {m}" for m in range(30))),
        )
        for n in range(SESSIONS)
    ]


class Pushing(threading.Thread):
    """Sends every batch until the hub has taken it, whatever happens to the hub meanwhile."""

    def __init__(self, device: Device, served: Served, sent: threading.Semaphore) -> None:
        super().__init__(daemon=True)
        self._device = device
        self._served = served
        self._sent = sent
        self.failures: list[str] = []

    def run(self) -> None:
        for batch in batches(self._device):
            for _ in range(100):
                assert self._served.is_up.wait(120)
                try:
                    answer = self._device.post("/v1/push", batch)
                except OSError as error:
                    self.failures.append(str(error))
                    continue
                self._sent.release()
                if answer.status == 200:
                    break
                self.failures.append(answer.code)
                if answer.status == 429:  # a laptop waits as long as it is told
                    time.sleep(0.2)
            else:
                raise AssertionError(self.failures[-3:])


def assert_whole(database: str, devices: list[Device], directory: Path) -> None:
    """Everything is there once, readable, and nothing else is."""
    items = content(database)["items"]
    expected = {(item.key, item.hash) for one in devices for b in batches(one) for item in b.items}
    assert {(row[3], row[4]) for row in items} == expected
    assert len(items) == sum(len(b.items) for one in devices for b in batches(one))
    for one in devices:
        for batch in batches(one):
            assert one.post("/v1/push", batch).value(wire.Pushed).taken == 0
        for n in range(SESSIONS):
            text = one.get(f"/v1/session/{one.session_key(str(n))}").value(wire.SessionText)
            assert [event.text for event in text.events] == [f"question {n} {m}" for m in range(30)]
    keys = {path.name for path in (directory / "vault" / "keys").rglob("*") if path.is_file()}
    with psycopg.connect(owner_of(database)) as connection:
        used = connection.execute("SELECT vault_key FROM hub.item WHERE vault_key IS NOT NULL")
        listed = connection.execute("SELECT name FROM hub.erasure WHERE place = 'vault'")
        known = {str(row[0]).rpartition("/")[2] for row in (*used.fetchall(), *listed.fetchall())}
    assert keys <= known  # no key is left that nobody will ever delete


def push_while(team: Team, served: Served, shoot: object) -> list[Device]:
    devices = [team.device(name) for name in ("Ann", "Bob")]
    for device in devices:
        device.share()
        device.hub = served.address
    sent = threading.Semaphore(0)
    threads = [Pushing(device, served, sent) for device in devices]
    for thread in threads:
        thread.start()
    for _ in range(2):
        assert sent.acquire(timeout=120)
        assert sent.acquire(timeout=120)
        shoot()  # type: ignore[operator]
    for thread in threads:
        thread.join(240)
        assert not thread.is_alive()
    return devices


@pytest.mark.rows("HUB-16")
def test_a_hub_killed_during_pushes_loses_and_doubles_nothing(
    team: Team, served: Served, database: str, tmp_path: Path
) -> None:
    def shoot() -> None:
        served.kill()
        served.process = served.start()

    devices = push_while(team, served, shoot)
    assert_whole(database, devices, tmp_path)


@pytest.mark.rows("HUB-16")
def test_a_database_killed_during_pushes_loses_and_doubles_nothing(
    team: Team, served: Served, database: str, postgres: PostgresServer, tmp_path: Path
) -> None:
    def shoot() -> None:
        postgres.kill()
        postgres.start()

    devices = push_while(team, served, shoot)
    assert_whole(database, devices, tmp_path)


@pytest.mark.rows("HUB-16")
def test_an_instance_that_ended_after_the_commit_leaves_no_key_behind(
    team: Team, hub: Hub, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    ann = team.device("Ann")
    ann.share()
    ann.push(ann.events("s", "hello"))
    target = wire.Tombstone("session", ann.session_key("s"))
    with monkeypatch.context() as patch:  # the process ends between commit and deletion
        patch.setattr("session_memory.hub.forget.finish", lambda *_: False)
        assert not ann.forget(target).complete
    assert ann.prove(target) == wire.Proof(0, 0, 1, 1, refused=True)
    assert finish(hub.pool, hub.texts)
    assert ann.prove(target) == wire.Proof(0, 0, 0, 0, refused=True)
    assert counted(database, "erasure") == 0


@pytest.mark.rows("HUB-16")
def test_an_upload_that_was_never_committed_is_deleted_later(
    team: Team, hub: Hub, database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ann = team.device("Ann")
    ann.share()

    def end(*_: object) -> None:
        raise OSError("the process ends here")

    with monkeypatch.context() as patch:
        patch.setattr("session_memory.hub.push._write", end)
        assert ann.post("/v1/push", ann.batch(ann.events("s", "hello"))).code == "unavailable"
    assert len([path for path in (tmp_path / "objects").rglob("*") if path.is_file()]) == 1
    finish(hub.pool, hub.texts)  # not yet: it could still be committed
    assert counted(database, "erasure") == 2
    with psycopg.connect(owner_of(database)) as connection:
        connection.execute("UPDATE hub.erasure SET after = now()")
    assert finish(hub.pool, hub.texts)
    assert list(tmp_path.rglob("texts/*/*")) == []
    assert ann.push(ann.events("s", "hello")).taken == 1


@pytest.mark.rows("HUB-17")
def test_a_storage_that_is_away_delays_texts_and_stops_nothing_else(
    team: Team, hub: Hub, s3: S3Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in s3.environment().items():
        monkeypatch.setenv(name, value)
    hub.texts = Texts(open_objects(s3.make_bucket("texts")), open_objects(str(tmp_path / "vault")))
    ann = team.device("Ann")
    ann.share()
    assert ann.push(ann.events("s", "hello world"), ann.events("t", "hello moon")).taken == 2
    s3.kill()
    try:
        assert ann.post("/v1/push", ann.batch(ann.events("u", "late"))).code == "unavailable"
        assert ann.push(ann.item("rule", "r", "use uv")).taken == 1
        target = (wire.Tombstone("session", ann.session_key("s")),
                  wire.Tombstone("session", ann.session_key("t")))  # fmt: skip
        assert not ann.forget(*target).complete  # their object is left, and cannot be read
        assert ann.prove(*target).data_keys == 0
    finally:
        s3.start()
    assert finish(hub.pool, hub.texts)
    assert ann.push(ann.events("u", "late")).taken == 1
    assert [hit.text for hit in ann.search("late")] == ["late"]


@pytest.mark.rows("HUB-18")
def test_many_clients_push_and_read_at_once_without_a_deadlock(
    team: Team, served: Served, database: str, tmp_path: Path
) -> None:
    people = [team.device(f"Person {n}") for n in range(5)]
    for person in people:
        person.share()
        person.hub = served.address
    sent = threading.Semaphore(0)
    # Two threads send the same batches of each person: as two laptops, or as a repeated request.
    pushing = [Pushing(person, served, sent) for person in people for _ in range(2)]
    done = threading.Event()
    failures: list[str] = []

    def read(device: Device) -> None:
        while not done.is_set():
            answer = device.post("/v1/search", wire.Search("question cure 3"))
            if answer.status not in (200, 429):
                failures.append(answer.body.decode())
                return

    readers = [threading.Thread(target=read, args=(person,), daemon=True) for person in people[:2]]
    for thread in (*pushing, *readers):
        thread.start()
    for thread in pushing:
        thread.join(240)
        assert not thread.is_alive()
    done.set()
    for thread in readers:
        thread.join(60)
    assert failures == []
    with psycopg.connect(owner_of(database)) as connection:
        name = database.rpartition("/")[2]
        row = connection.execute(
            "SELECT deadlocks FROM pg_stat_database WHERE datname = %s", (name,)
        )
        assert row.fetchone() == (0,)
    assert not any("unavailable" in each for one in pushing for each in one.failures)
    assert_whole(database, people, tmp_path)
