"""How a hub does under load: clients push prepared bodies while readers search, over HTTP.

    python -m tests.bench.hub [--events N] [--clients N] [--readers N] [--seconds N] [--keep FOLDER]

Fills a hub with made sessions, by the function behind its endpoint. Then it prints one line each
for searches while nothing else happens, by the kind of their words, and one for searches of all
readers, without a pause between them, while all clients push prepared bodies: p50 and p95, rows
pushed and lost, deadlocks, and the CPU seconds of hub, PostgreSQL and this program. Exits with 1
where a row was lost, a deadlock happened or a p95 is above its bound.

With --keep the filled hub stays in the folder and is used again: filling a million events takes
minutes, measuring them should be done on a machine that does nothing else. Needs PostgreSQL.
"""

from __future__ import annotations

import argparse
import asyncio
import gzip
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec
import psycopg
from tests.bench.hub_base import (
    EVENTS,
    SETTINGS,
    Base,
    Made,
    base,
    batch,
    served,
)
from tests.bench.hub_clients import prepared, push_all, search_times, search_until
from tests.hub.team import Device

from session_memory.core.sharing import wire
from session_memory.testing.postgres_server import PostgresServer

QUESTIONS = 100
WARM_UP = 10
IDLE_MS, LOADED_MS = 200, 1000
"""The bounds of the 95th percentile."""
_TICKS = os.sysconf("SC_CLK_TCK")


def cpu_seconds(pid: int) -> float:
    """What a process and all it started, also those that ended, have used."""
    if pid == os.getpid():  # this one started the others
        return time.process_time()
    total = 0
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            if int(entry.name) == pid:
                total += sum(map(int, fields[11:15]))
            elif int(fields[1]) == pid:
                total += sum(map(int, fields[11:13]))
    return total / _TICKS


def percentiles(took: Sequence[float]) -> dict[str, float]:
    """The middle and the slow end."""
    ordered = sorted(took) or [0.0]
    return {
        "searches": len(took),
        "p50 ms": round(ordered[len(ordered) // 2], 1),
        "p95 ms": round(ordered[int(len(ordered) * 0.95)], 1),
        "max ms": round(ordered[-1], 1),
    }


def show(**figures: object) -> None:
    """One line."""
    print(json.dumps({**figures, "load": round(os.getloadavg()[0], 1)}), flush=True)


def asking(device: Device, make: Callable[[], str]) -> Callable[[], bytes]:
    """Makes prepared searches of a device."""
    return lambda: prepared(
        "/v1/search", device.token, msgspec.json.encode(wire.Search(make(), limit=10))
    )


def measure_idle(device: Device, address: str) -> bool:
    """Search while nothing else happens; whether every kind kept to the bound."""
    kept = True
    made = Made(1)
    kinds = {"frequent": lambda: made.text(4), "mixed": made.question, "unsaid": made.unsaid}
    for kind, make in kinds.items():
        requests = [asking(device, make)() for _ in range(QUESTIONS + WARM_UP)]
        took = percentiles(asyncio.run(search_times(address, requests))[WARM_UP:])
        show(idle=kind, **took)
        kept &= took["p95 ms"] <= IDLE_MS
        time.sleep(QUESTIONS / 20)  # a device may ask 20 times a second in the long run
    return kept


class Loaded(msgspec.Struct, frozen=True):
    """What came of the time under load."""

    took: list[float]
    taken: list[list[int]]
    """Items that each push of each client stored."""
    seconds: float


async def load(
    address: str, bodies: Sequence[Sequence[bytes]], readers: Sequence[Device], seconds: float
) -> Loaded:
    """All clients push while all readers search."""
    done = asyncio.Event()
    start = time.monotonic()
    reading = [
        asyncio.create_task(search_until(address, asking(one, Made(n).question), done))
        for n, one in enumerate(readers)
    ]
    taken = await asyncio.gather(*(push_all(address, each, start + seconds) for each in bodies))
    took = time.monotonic() - start
    done.set()
    times = await asyncio.gather(*reading)
    return Loaded([one for each in times for one in each], list(taken), took)


def measure_loaded(made: Base, address: str, given: argparse.Namespace, pids: list[int]) -> bool:
    """Search under load; whether nothing was lost and the bound was kept."""
    devices = made.devices(address)
    clients, readers = devices[: given.clients], devices[given.clients :][: given.readers]
    name = f"load {time.time_ns()}"
    pushes = [
        [batch(one, Made(10**6 + 97 * n + m), f"{name} {m}") for m in range(given.batches)]
        for n, one in enumerate(clients)
    ]
    bodies = [
        [
            prepared(
                "/v1/push", one.token, gzip.compress(msgspec.json.encode(push), 6), packed=True
            )
            for push in each
        ]
        for one, each in zip(clients, pushes, strict=True)
    ]
    before = [cpu_seconds(pid) for pid in pids]
    rows, deadlocks = counted(made), deadlocked(made)
    found = asyncio.run(load(address, bodies, readers, given.seconds))
    used = [round(cpu_seconds(pid) - was, 1) for pid, was in zip(pids, before, strict=True)]
    pushed = sum(sum(each) for each in found.taken)
    lost = sum(
        lacking(one, push)
        for one, each, taken in zip(clients, pushes, found.taken, strict=True)
        for push, _ in zip(each, taken, strict=False)
    )
    figures = percentiles(found.took)
    met = deadlocked(made) - deadlocks
    show(
        clients=len(clients),
        readers=len(readers),
        **figures,
        **{"searches per second": round(len(found.took) / found.seconds, 1)},
        **{"pushed runs": pushed, "pushed events": pushed * EVENTS},
        **{"pushed events per second": round(EVENTS * pushed / found.seconds)},
        **{"lost runs": lost, "rows more": counted(made) - rows, "deadlocks": met},
        **{"CPU s of hub, PostgreSQL, clients": used, "seconds": round(found.seconds, 1)},
    )
    whole = lost == 0 and met == 0 and counted(made) - rows >= pushed
    return whole and figures["p95 ms"] <= LOADED_MS


def lacking(device: Device, push: wire.Push) -> int:
    """How many items of a push that was answered the hub does not have."""
    asked = wire.Missing(push.project, tuple((item.key, item.hash) for item in push.items))
    while (answer := device.post("/v1/missing", asked)).status == 429:
        time.sleep(1)
    return len(answer.value(wire.Lacking).keys)


def _number(made: Base, statement: str) -> int:
    with psycopg.connect(made.owner) as connection:
        row = connection.execute(statement.encode()).fetchone()
    assert row is not None
    return int(row[0])


def counted(made: Base) -> int:
    """Rows of items."""
    return _number(made, "SELECT count(*) FROM hub.item")


def deadlocked(made: Base) -> int:
    """Deadlocks that PostgreSQL has met."""
    return _number(
        made, "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()"
    )


def measure(server: PostgresServer, folder: Path, given: argparse.Namespace) -> bool:
    """Fill, serve, and measure idle and loaded."""
    made = base(server, folder, given.clients + given.readers, given.events)
    if given.fill_only:
        return True
    size = _number(made, "SELECT pg_database_size(current_database())")
    events = _number(made, "SELECT sum(documents) FROM hub.size WHERE field = 1")
    show(events=events, bytes_of_database_per_event=round(size / events))
    process, address = served(made.database, folder)
    try:
        kept = measure_idle(made.devices(address)[-1], address)
        if given.seconds:
            pids = [process.pid, server.pid, os.getpid()]
            kept &= measure_loaded(made, address, given, pids)
    finally:
        process.terminate()
        process.wait()
    return kept


def main(arguments: Sequence[str]) -> int:
    """Start everything, measure, stop everything."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=1_000_000)
    parser.add_argument("--clients", type=int, default=50)
    parser.add_argument("--readers", type=int, default=20)
    parser.add_argument("--batches", type=int, default=2, help="of 2,000 events, by each client")
    parser.add_argument("--seconds", type=int, default=60, help="of load at most; 0: idle only")
    parser.add_argument("--keep", type=Path, help="a folder for the filled hub, to use it again")
    parser.add_argument("--fill-only", action="store_true", help="with --keep: measure later")
    given = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as temporary:
        folder = given.keep or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        place = folder / "postgres"
        place.mkdir(exist_ok=True)
        folder.chmod(0o755)  # PostgreSQL runs as somebody else where we are root
        server = PostgresServer(directory=place, settings=SETTINGS)
        try:
            return 0 if measure(server, folder, given) else 1
        finally:
            server.close()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
