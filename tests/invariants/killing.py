"""Works in child processes and kills them, until enough were killed; prints what it found.

    python -m tests.invariants.killing DIRECTORY FLOW KILLS SEED

A program of its own: it forks, which a test runner with threads must not, and a forked child is at
work at once, so that kills fall into the work and not into the imports.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import time
from pathlib import Path
from typing import Any

from tests.invariants.broken import Known, broken
from tests.invariants.flows import FLOWS, Flow, start_of

from session_memory.testing.workspace import Workspace


def fork_work(flow: Flow, space: Workspace) -> int:
    """Do the work in a child; returns its process id."""
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            flow.work(space)
            code = 0
        finally:
            os._exit(code)
    return pid


def was_killed(pid: int, delay: float) -> bool:
    """Kill the child after `delay` seconds unless it ended before; any other end is an error."""
    time.sleep(delay)
    os.kill(pid, signal.SIGKILL)  # not waited for yet, so the number cannot be anyone else's
    _, status = os.waitpid(pid, 0)
    if os.WIFSIGNALED(status):
        return True
    if os.WEXITSTATUS(status) != 0:
        raise SystemExit("the work failed by itself")
    return False


def undisturbed(flow: Flow, space: Workspace) -> tuple[Known, float]:
    """What all others must come to, and how long the work takes."""
    start_of(flow, space)
    logs = space.log_hashes()
    started = time.perf_counter()
    _, status = os.waitpid(fork_work(flow, space), 0)
    if status:
        raise SystemExit("the work fails even undisturbed")
    duration = time.perf_counter() - started
    flow.finish(space)
    return Known(space.dump(), flow.gone, logs), duration


def damage(space: Workspace) -> list[str]:
    """What a kill alone must never leave behind; files without a row are swept up later."""
    database = space.store_directory / "store.db"
    if not (database.exists() and database.stat().st_size):
        return []
    with space.store() as store:
        return [f"{f.check}: {f.detail}" for f in store.fsck() if f.severity == "error"]


def problems(flow: Flow, space: Workspace, known: Known) -> list[str]:
    """Everything that is not as if nothing had happened."""
    found = broken(space, known)
    found += [f"left behind: {path.name}" for path in space.store_directory.rglob("*.tmp")]
    with space.store() as store:
        for text in flow.gone:
            found += [f"{text}: {place}" for place in store.traces(text)]
    return found


def main(root: Path, flow: Flow, kills: int, seed: int) -> dict[str, Any]:
    """Kill again and again in the same store until the work survives; then check and start anew."""
    chance = random.Random(seed)
    first = Workspace(root, store="undisturbed")
    flow.prepare(first)
    known, duration = undisturbed(flow, first)
    done = stores = 0
    found: list[str] = []
    while done < kills:
        space = first.with_store(f"store-{stores}")
        start_of(flow, space)
        while was_killed(fork_work(flow, space), chance.uniform(0, duration)):
            done += 1
            found += [f"kill {done}: {text}" for text in damage(space)]
        flow.finish(space)
        found += [f"store {stores}: {text}" for text in problems(flow, space, known)]
        stores += 1
    return {"kills": done, "stores": stores, "problems": found}


if __name__ == "__main__":
    place, name, number, chosen = sys.argv[1:]
    print(json.dumps(main(Path(place), FLOWS[name], int(number), int(chosen))))
