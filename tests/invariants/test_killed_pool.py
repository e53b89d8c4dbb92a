"""Sweeps in several processes, any of which may be killed at any moment: the same store."""

from __future__ import annotations

import os
import random
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.invariants.broken import broken, difference
from tests.invariants.sessions import BUILDERS, FLAVORS, write_flavors
from tests.invariants.sizes import IS_LARGE, SIZES, record

from session_memory.testing.workspace import Workspace

KILLS = SIZES.kills // 4 if IS_LARGE else SIZES.kills
LOOKS = 400
"""Most looks at a sweep before somebody is killed: they are spread over all of its work."""

pytestmark = pytest.mark.skipif(
    not Path("/proc/self/task").exists(), reason="finds processes in /proc"
)


@pytest.mark.rows("ING-23")
def test_whoever_is_killed_in_a_sweep_of_several_processes(tmp_path: Path) -> None:
    space = Workspace(tmp_path)
    write_flavors(space, count=6, steps=12)
    for flavor in FLAVORS:
        BUILDERS[flavor](600, 4).write(space.flavor_home(flavor))
    space.set_ingest(commit_bytes=20_000)
    alone = space.with_store("alone")
    alone.sweep()
    expected, chance = alone.dump(), random.Random(SIZES.seed)
    killed = 0
    for number in range(KILLS):
        store = space.with_store(f"killed-{number}")
        config = str(store.write_config())
        killed += _sweep_and_kill(store, config, chance, own=number % 2 == 0)
        done = store.run_process("--config", config, "sweep", "--jobs", "2")
        assert done.returncode == 0, f"{number}: {done.stderr}"
        assert difference(store.dump(), expected) == [], number
        assert broken(store) == []
    assert killed
    record("sweeps in several processes", kills=killed, problems=0, seed=SIZES.seed)


def _sweep_and_kill(store: Workspace, config: str, chance: random.Random, *, own: bool) -> int:
    """A sweep that is killed itself, or one of its pool processes; how many were."""
    process = store.start("--config", config, "sweep", "--jobs", "3")
    looks = chance.randrange(1, LOOKS)
    killed = 0
    for pids in _pool_of(process):
        looks -= 1
        if looks <= 0:
            killed = _kill(process.pid if own else chance.choice(pids))
            break
    process.communicate(timeout=120)
    return killed


def _kill(pid: int) -> int:
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return 0
    return 1


def _pool_of(process: subprocess.Popen[str]) -> Iterator[list[int]]:
    """The pool processes of a sweep, at each look while there are any."""
    listing = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    while process.poll() is None:
        try:
            pids = [int(pid) for pid in listing.read_text().split()]
        except OSError:
            return
        if pids:
            yield pids
        os.sched_yield()
