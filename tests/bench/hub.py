"""How a hub does under load: clients push prepared bodies while readers search, over HTTP.

    python -m tests.bench.hub [--events N] [--clients N] [--readers N]

Fills a hub with made sessions through its own endpoints and prints how fast that was and what it
takes on disk, then the time of a search while nothing else happens, then while all clients push.
Needs PostgreSQL. The figures of docs/evidence.md name the size they were made with.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import psycopg
from tests.hub.team import Device, Request, send
from tests.servers import storage

from session_memory.core.sharing import wire
from session_memory.hub import schema
from session_memory.hub.admin import Invitation, invite
from session_memory.hub.database import open_pool
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


def push_all(device: Device, batches: Sequence[wire.Push], taken: list[int]) -> None:
    """Send prepared batches; what is told to wait is sent again."""
    for each in batches:
        while True:
            answer = device.post("/v1/push", each, packed=True)
            if answer.status == 429:
                time.sleep(int(answer.headers.get("retry-after", "1")))
                continue
            taken.append(answer.value(wire.Pushed).taken)
            break


def search_times(device: Device, seed: int, until: threading.Event | None = None) -> list[float]:
    """How long searches take, in milliseconds."""
    made, took = Made(seed), list[float]()
    while len(took) < QUESTIONS if until is None else not until.is_set():
        start = time.perf_counter()
        answer = device.post("/v1/search", wire.Search(made.text(4), limit=10))
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


def measure(database: str, address: str, events: int, clients: int, readers: int) -> None:
    """Fill, search idle, search under load; print each as one line."""
    devices = joined(database, address, clients + readers)
    sessions = max(1, events // (EVENTS * ITEMS))
    start, taken = time.perf_counter(), list[int]()
    for number in range(sessions):
        device = devices[number % clients]
        push_all(device, [batch(device, Made(number), f"fill {number}")], taken)
    seconds = time.perf_counter() - start
    with psycopg.connect(database) as connection:
        row = connection.execute("SELECT pg_database_size(current_database())").fetchone()
    assert row is not None
    stored = EVENTS * sum(taken)
    figures = {
        "events": stored,
        "events per second": round(stored / seconds),
        "bytes of database per event": round(row[0] / stored),
    }
    print(json.dumps(figures), flush=True)
    print(json.dumps({"idle": percentiles(search_times(devices[-1], 1))}), flush=True)
    prepared = [
        [batch(one, Made(n + 10_000), f"load {n}")] for n, one in enumerate(devices[:clients])
    ]
    done, times, added = threading.Event(), list[float](), list[int]()
    reading = [
        threading.Thread(target=lambda one=one: times.extend(search_times(one, 2, done)))
        for one in devices[clients:]
    ]
    pushing = [
        threading.Thread(target=push_all, args=(one, batches, added))
        for one, batches in zip(devices, prepared, strict=False)
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
    assert sum(added) == clients * ITEMS, "a run was lost"
    print(json.dumps({"clients": clients, "readers": readers, "load": percentiles(times),
                      "pushed events per second": round(EVENTS * sum(added) / seconds),
                      "deadlocks": found[0] if found else None}))  # fmt: skip


def main(arguments: Sequence[str]) -> int:
    """Start everything, measure, stop everything."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=1_000_000)
    parser.add_argument("--clients", type=int, default=50)
    parser.add_argument("--readers", type=int, default=20)
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
                measure(database, address, given.events, given.clients, given.readers)
            finally:
                process.terminate()
                process.wait()
    finally:
        server.close()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
