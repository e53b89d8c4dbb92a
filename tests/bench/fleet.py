"""Detection by a fleet beside one process: CPU, clock, memory, bytes, and a worker killed.

`python -m tests.bench.fleet make DIR SESSIONS` writes generated digests as Parquet,
`python -m tests.bench.fleet one DIR` detects in a single process,
`python -m tests.bench.fleet fleet DIR WORKERS [kill]` on a cluster of this machine.
"""

from __future__ import annotations

import gc
import json
import os
import resource
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

if not __package__:  # run as a file: the repository is what `tests.bench` is found in
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import msgspec
from tests.bench.detect import digests
from tests.bench.usage import arguments

from session_memory.core.hashing import blake2b
from session_memory.core.loop.patterns import Candidate
from session_memory.core.schema import Session
from session_memory.detect.cluster import cluster
from session_memory.detect.rank import rank
from session_memory.fleet.dataset import Dataset
from session_memory.fleet.detect import FleetQuery, Places, detect_all, mine_all
from session_memory.fleet.engine import connected
from session_memory.fleet.export import write_dataset
from session_memory.fleet.location import Location
from session_memory.fleet.parts import Filter, evidence, mine_part
from session_memory.fleet.records import Exported, ExportedSession
from session_memory.testing.store_drafts import START

REPOS = 500


def generated(count: int) -> Iterator[ExportedSession]:
    """Sessions as an export has them, of some hundred projects."""
    numbers = range(count, 0, -1)
    for number, digest in zip(numbers, digests(count), strict=True):
        repo = f"repo{number % REPOS}"
        session = Session(
            number,
            digest.flavor,
            f"s{number}",
            project_key=repo,
            started_at=START + number * 60_000,
            ended_at=START + number * 60_000 + 900_000,
            event_count=60,
        )
        yield ExportedSession(session, number, digest, repo, (f"/src/{repo}",))


def one_process(source: str, work: str) -> list[Candidate]:
    """The functions of the local commands, over the same files, without a cluster."""
    parts = Dataset(source).parts("digests")
    for part in parts:
        mine_part(Dataset(source), Dataset(work), part)
    return rank(cluster(lambda: evidence(Dataset(work), parts, Filter())), START)


def by_fleet(source: str, work: str, workers: int, kill: bool) -> tuple[list[Candidate], int]:
    """On a cluster; with `kill`, one of its workers is killed in the middle of each step."""
    killed: set[str] = set()

    def progress(done: int, total: int, what: str) -> None:
        if kill and what not in killed and done >= total // 3:
            killed.add(what)
            victims = _workers(os.getpid())
            os.kill(victims[0], signal.SIGKILL)

    places = Places(source, work)
    with connected(Location(workers=workers), progress) as engine:
        found = detect_all(mine_all(engine, places), FleetQuery(), START)
        return found, engine.shuffled


def _workers(parent: int) -> list[int]:
    """Processes below ours that run tasks: those that a nanny started."""
    found: list[int] = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
                line = (entry / "cmdline").read_bytes()
            except OSError:
                continue
            if int(fields[1]) == parent and b"spawn_main" in line:
                found.append(int(entry.name))
    return sorted(found)


def measured(name: str, source: str, run: Callable[[str], tuple[list[Candidate], int]]) -> None:
    """Print one run as JSON."""
    with tempfile.TemporaryDirectory(dir=os.environ.get("BENCH_WORK")) as work:
        started, first = time.monotonic(), sum(os.times()[:4])
        found, shuffled = run(work)
        clock = time.monotonic() - started
        own, children = (
            resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
        )
        written = sum(file.stat().st_size for file in Path(work).rglob("*.parquet"))
        text = b"\n".join(map(msgspec.json.encode, found))
    print(
        json.dumps(
            {
                "run": name,
                "cpu_s": round(sum(os.times()[:4]) - first, 1),
                "clock_s": round(clock, 1),
                "own_mb": own.ru_maxrss // 1024,
                "worker_mb": children.ru_maxrss // 1024,
                "signals_mb": round(written / 1e6, 1),
                "results_mb": round(shuffled / 1e6, 2),
                "candidates": len(found),
                "checksum": blake2b(text, digest_size=8).hexdigest(),
                "digests": source,
            }
        )
    )


def main(given: list[str]) -> int:
    """See the top of this file."""
    gc.set_threshold(20_000, 50, 100)  # as in the commands
    what, directory, *rest = given
    if what == "make":
        shutil.rmtree(directory, ignore_errors=True)
        done = write_dataset(Dataset(directory), generated(int(rest[0])), Exported(), signals=False)
        print(done)
    elif what == "one":
        measured("one process", directory, lambda work: (one_process(directory, work), 0))
    else:
        kill = rest[1:] == ["kill"]
        name = f"{rest[0]} workers{', one killed in each step' * kill}"
        measured(name, directory, lambda work: by_fleet(directory, work, int(rest[0]), kill))
    return 0


if __name__ == "__main__":
    sys.exit(main(arguments(__doc__)))
