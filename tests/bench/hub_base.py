"""A hub with many made sessions for tests.bench.hub, filled once and kept where that is wished."""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from datetime import UTC, datetime
from multiprocessing import get_context
from pathlib import Path

import msgspec
import psycopg
from tests.hub.team import Device, Request, send
from tests.servers import storage

from session_memory.core.sharing import wire
from session_memory.hub import schema
from session_memory.hub.access import authenticate
from session_memory.hub.admin import Invitation, invite
from session_memory.hub.database import open_pool, transaction
from session_memory.hub.objects import Texts, open_objects
from session_memory.hub.push import push
from session_memory.testing.postgres_server import PostgresServer

EVENTS = wire.EVENTS_PER_ITEM
ITEMS = 10
"""Runs of events in one push."""
WORDS_OF_AN_EVENT = 40
SETTINGS = {"shared_buffers": "2GB", "max_wal_size": "8GB"}
"""As docs/hub.md asks of a hub of this size: the indexes fit into memory."""


class Made:
    """Texts with a few frequent and many rare words, the same for the same seed."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def word(self) -> str:
        """A word; the hundredth is about a hundredth as frequent as the first."""
        return f"w{int(self._random.paretovariate(0.7))}x"

    def text(self, words: int = WORDS_OF_AN_EVENT) -> str:
        """A text; asked with four words, mostly ones that stand everywhere."""
        return " ".join(self.word() for _ in range(words))

    def question(self) -> str:
        """Four words; rare, middling and frequent ones are equally likely."""
        return " ".join(f"w{int(10 ** self._random.uniform(0, 4))}x" for _ in range(4))

    def unsaid(self) -> str:
        """Three such words, and one that is in no text: similar ones are looked for."""
        return f"{' '.join(self.question().split()[:3])} w{self._random.randrange(10**4)}xz"


class Base(msgspec.Struct, frozen=True):
    """A filled hub: its database, the folder of its texts, and its members' devices."""

    database: str
    owner: str
    folder: Path
    joined: list[tuple[wire.Joined, dict[str, int]]]

    def devices(self, address: str) -> list[Device]:
        """The devices, for a hub that listens at an address."""
        made: list[Device] = []
        for joined, generation in self.joined:
            made.append(Device(address, joined))
            made[-1].generation = dict(generation)
        return made


def served(database: str, folder: Path) -> tuple[subprocess.Popen[str], str]:
    """A hub in a process of its own, and its address."""
    objects, vault = storage(folder)
    process = subprocess.Popen(
        [sys.executable, "-m", "session_memory", "hub", "serve", "--port", "0",
         "--database", database, "--objects", objects, "--vault", vault],
        stdout=subprocess.PIPE, text=True, env={**os.environ, "HOME": str(folder)},
    )  # fmt: skip
    assert process.stdout is not None
    return process, process.stdout.readline().split()[-1]


def batch(device: Device, made: Made, session: str) -> wire.Push:
    """One push: several runs of one session."""
    runs = [
        device.events(session, *(made.text() for _ in range(EVENTS)), first=EVENTS * n)
        for n in range(ITEMS)
    ]
    return device.batch(*runs)


def base(server: PostgresServer, folder: Path, people: int, events: int) -> Base:
    """The hub in this folder, made and filled where that was not done before."""
    database = server.url("hub", schema.DEFAULT_ROLE)
    kept = folder / "joined.json"
    if kept.exists():
        schema.make(server.url("hub"))
        joined = msgspec.json.decode(
            kept.read_bytes(), type=list[tuple[wire.Joined, dict[str, int]]]
        )
        return Base(database, server.url("hub"), folder, joined)
    _make_database(server)
    for part in ("objects", "vault"):  # of a filling that was cut off
        shutil.rmtree(folder / part, ignore_errors=True)
    process, address = served(database, folder)
    try:
        devices = _joined(database, address, people)
    finally:
        process.terminate()
        process.wait()
    _fill_all(database, folder, devices, events)
    with psycopg.connect(server.url("hub"), autocommit=True) as connection:
        connection.execute("VACUUM ANALYZE")
        connection.execute("CHECKPOINT")
    made = [(one.joined, one.generation) for one in devices]
    kept.write_bytes(msgspec.json.encode(made))
    return Base(database, server.url("hub"), folder, made)


def _make_database(server: PostgresServer) -> None:
    with psycopg.connect(server.url(), autocommit=True) as connection:
        connection.execute("DROP DATABASE IF EXISTS hub")
        connection.execute("CREATE DATABASE hub")
    schema.make(server.url("hub"))


def _joined(database: str, address: str, count: int) -> list[Device]:
    """Members that share the project."""
    devices: list[Device] = []
    with open_pool(database, size=2) as pool:
        for number in range(count):
            token = invite(pool, Invitation("bench", ("*",)), datetime.now(UTC)).token
            body = json.dumps({"display_name": f"Person {number}"}).encode()
            answer = send(address, Request("POST", "/v1/join", token, body))
            devices.append(Device(address, answer.value(wire.Joined)))
            devices[-1].share()
    return devices


def _fill(database: str, folder: Path, device: Device, numbers: range) -> int:
    """Push sessions without HTTP in between; returns how many runs were taken."""
    objects, vault = storage(folder)
    texts, taken = Texts(open_objects(objects), open_objects(vault)), 0
    with open_pool(database, size=2) as pool:
        with transaction(pool) as connection:
            caller = authenticate(connection, f"Bearer {device.token}", datetime.now(UTC))
        for number in numbers:
            made = batch(device, Made(number), f"fill {number}")
            taken += push(pool, texts, caller, caller.projects[made.project], made).taken
    return taken


def _fill_all(database: str, folder: Path, devices: Sequence[Device], events: int) -> None:
    """The base, by two processes."""
    sessions = max(1, events // (EVENTS * ITEMS))
    start = time.perf_counter()
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as workers:
        made = [
            workers.submit(_fill, database, folder, device, range(number, sessions, len(devices)))
            for number, device in enumerate(devices)
        ]
        stored = EVENTS * sum(each.result() for each in made)
    print(json.dumps({"filled events": stored, "seconds": round(time.perf_counter() - start)}))
