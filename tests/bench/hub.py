"""How a hub does under load: clients push prepared bodies while readers search, over HTTP.

    python -m tests.bench.hub [--events N] [--clients N] [--readers N] [--batches N]

Fills a hub with made sessions, by the function behind its endpoint, and prints how long that took
and what it takes on disk; then the time of a search over HTTP while nothing else happens, and while
all clients push prepared bodies. Needs PostgreSQL. The figures of docs/evidence.md name the size
they were made with and the load average, which each line ends with.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import random
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
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
QUESTIONS = 60


class Made:
    """Texts with a few frequent and many rare words, the same for the same seed."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def word(self) -> str:
        """A word; the hundredth is about a hundredth as frequent as the first."""
        return f"w{int(self._random.paretovariate(0.7))}x"

    def text(self, words: int = WORDS_OF_AN_EVENT) -> str:
        """A text."""
        return " ".join(self.word() for _ in range(words))

    def question(self) -> str:
        """Four words; rare, middling and frequent ones are equally likely."""
        return " ".join(f"w{int(10 ** self._random.uniform(0, 4))}x" for _ in range(4))


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


def joined(database: str, address: str, count: int) -> list[Device]:
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


def batch(device: Device, made: Made, session: str) -> wire.Push:
    """One push: several runs of one session."""
    runs = [
        device.events(session, *(made.text() for _ in range(EVENTS)), first=EVENTS * n)
        for n in range(ITEMS)
    ]
    return device.batch(*runs)


def fill(database: str, folder: Path, device: Device, numbers: range) -> int:
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


def push_all(device: Device, bodies: Sequence[bytes], taken: list[int]) -> None:
    """Send prepared bodies; what is told to wait is sent again."""
    for body in bodies:
        request = Request("POST", "/v1/push", device.token, body, {"Content-Encoding": "gzip"})
        while True:
            answer = send(device.hub, request)
            if answer.status == 429:
                time.sleep(int(answer.headers.get("retry-after", "1")))
                continue
            taken.append(answer.value(wire.Pushed).taken)
            break


def search_times(
    device: Device, ask: Callable[[], str], until: threading.Event | None = None
) -> list[float]:
    """How long searches take, in milliseconds: so many, or one after the other until the end."""
    took: list[float] = []
    while len(took) < QUESTIONS if until is None else not until.is_set():
        start = time.perf_counter()
        answer = device.post("/v1/search", wire.Search(ask(), limit=10))
        if answer.status == 200:
            took.append(1000 * (time.perf_counter() - start))
        else:
            assert answer.status == 429, answer
            time.sleep(1)
    return took


def percentiles(took: Sequence[float]) -> dict[str, float]:
    """The middle and the slow end."""
    ordered = sorted(took) or [0.0]
    return {
        "searches": len(took),
        "p50 ms": round(ordered[len(ordered) // 2], 1),
        "p95 ms": round(ordered[int(len(ordered) * 0.95)], 1),
    }


def show(**figures: object) -> None:
    """One line."""
    print(json.dumps({**figures, "load": round(os.getloadavg()[0], 1)}), flush=True)


def fill_all(database: str, folder: Path, devices: Sequence[Device], events: int) -> None:
    """The base, by two processes."""
    sessions = max(1, events // (EVENTS * ITEMS))
    start = time.perf_counter()
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as workers:
        made = [
            workers.submit(fill, database, folder, device, range(number, sessions, len(devices)))
            for number, device in enumerate(devices)
        ]
        stored = EVENTS * sum(each.result() for each in made)
    seconds = time.perf_counter() - start
    with psycopg.connect(database) as connection:
        row = connection.execute("SELECT pg_database_size(current_database())").fetchone()
    assert row is not None
    show(
        events=stored,
        seconds=round(seconds),
        database_bytes_per_event=round(row[0] / max(1, stored)),
    )


def measure(database: str, devices: Sequence[Device], clients: int, batches: int) -> None:
    """Search idle, then under load; print each as one line."""
    for kind in ("text", "question"):
        made = Made(1)
        ask = made.question if kind == "question" else lambda made=made: made.text(4)
        show(idle=kind, **percentiles(search_times(devices[-1], ask)))
    prepared = [
        [
            gzip.compress(msgspec.json.encode(batch(one, Made(10**6 + 97 * n + m), f"load {m}")))
            for m in range(batches)
        ]
        for n, one in enumerate(devices[:clients])
    ]
    done, times, added = threading.Event(), list[float](), list[int]()

    def read(device: Device, seed: int) -> None:
        times.extend(search_times(device, Made(seed).question, done))

    reading = [
        threading.Thread(target=read, args=(one, n)) for n, one in enumerate(devices[clients:])
    ]
    pushing = [
        threading.Thread(target=push_all, args=(one, bodies, added))
        for one, bodies in zip(devices, prepared, strict=False)
    ]
    start = time.perf_counter()
    for thread in (*reading, *pushing):
        thread.start()
    for thread in pushing:
        thread.join()
    seconds = time.perf_counter() - start
    done.set()
    for thread in reading:
        thread.join()
    with psycopg.connect(database) as connection:
        found = connection.execute(
            "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()"
        ).fetchone()
    assert sum(added) == clients * ITEMS * batches, "a run was lost"
    show(
        clients=clients,
        readers=len(reading),
        **percentiles(times),
        pushed_events_per_second=round(EVENTS * sum(added) / seconds),
        deadlocks=found[0] if found else None,
    )


def main(arguments: Sequence[str]) -> int:
    """Start everything, measure, stop everything."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=1_000_000)
    parser.add_argument("--clients", type=int, default=50)
    parser.add_argument("--readers", type=int, default=20)
    parser.add_argument("--batches", type=int, default=2, help="of 2,000 events, by each client")
    given = parser.parse_args(arguments)
    server = PostgresServer()
    try:
        with tempfile.TemporaryDirectory() as folder:
            with psycopg.connect(server.url(), autocommit=True) as connection:
                connection.execute("CREATE DATABASE hub")
            schema.make(server.url("hub"))
            database = server.url("hub", schema.DEFAULT_ROLE)
            process, address = served(database, Path(folder))
            try:
                devices = joined(database, address, given.clients + given.readers)
                fill_all(database, Path(folder), devices[: given.clients], given.events)
                with psycopg.connect(server.url("hub"), autocommit=True) as connection:
                    connection.execute("VACUUM ANALYZE")
                measure(database, devices, given.clients, given.batches)
            finally:
                process.terminate()
                process.wait()
    finally:
        server.close()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
