"""Sweeps in child processes and kills them, until enough were killed; prints what it found.

    python killing.py DIRECTORY KILLS SEED

A program of its own: it forks, which a test runner with threads must not, and a forked child is at
work at once, so that kills fall into the sweep and not into the imports.
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

from session_memory.testing.claude_log import ClaudeLog
from session_memory.testing.samples import write_samples
from session_memory.testing.workspace import Workspace

BLOCK = 6000
SESSIONS = 12


def write_logs(home: Path) -> None:
    """Samples with their fork and sub-agent, and sessions that take several commits each."""
    write_samples(home)
    for seed in range(400, 400 + SESSIONS):
        log = ClaudeLog(seed)
        log.prompt(f"work on task {seed}")
        for step in range(12):
            log.run(
                f"make step-{step}", f"{seed} step {step}: " + "output " * 60, exit_code=step % 3
            )
        log.say("done")
        log.write(home)


def workspace(root: Path, store: str, cap: int | None) -> Workspace:
    space = Workspace(root, store=store, raw_soft_cap_bytes=cap)
    space.read_in_blocks(BLOCK)
    return space


def fork_sweep(space: Workspace) -> int:
    """Sweep in a child; returns its process id."""
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            space.sweep()
            code = 0
        finally:
            os._exit(code)
    return pid


def was_killed(pid: int, delay: float) -> bool:
    """Wait for the child's end or kill it after `delay` seconds; any other end is an error."""
    time.sleep(delay)
    os.kill(pid, signal.SIGKILL)  # not waited for yet, so the number cannot be anyone else's
    _, status = os.waitpid(pid, 0)
    if os.WIFSIGNALED(status):
        return True
    if os.WEXITSTATUS(status) != 0:
        raise SystemExit("a sweep failed by itself")
    return False


def undisturbed(root: Path, cap: int | None) -> tuple[list[dict[str, Any]], float]:
    """The dump that all others must equal, and how long a sweep takes."""
    space = workspace(root, f"undisturbed-{cap}", cap)
    started = time.perf_counter()
    os.waitpid(fork_sweep(space), 0)
    return space.dump(), time.perf_counter() - started


def problems(space: Workspace, expected: list[dict[str, Any]]) -> list[str]:
    found = space.findings()
    if space.dump() != expected:
        found.append("the dump differs")
    found += [str(path) for path in space.store_directory.rglob("*.tmp")]
    return [f"{space.store_directory.name}: {text}" for text in found]


def main(root: Path, kills: int, seed: int) -> dict[str, Any]:
    """Kill again and again in the same store until a sweep survives; then check and start anew."""
    chance = random.Random(seed)
    write_logs(Workspace(root).claude)
    expected = {cap: undisturbed(root, cap) for cap in (None, 30_000)}
    done = stores = 0
    found: list[str] = []
    while done < kills:
        cap = (None, 30_000)[stores % 2]
        dump, duration = expected[cap]
        space = workspace(root, f"store-{stores}", cap)
        while was_killed(fork_sweep(space), chance.uniform(0, duration)):
            done += 1
        space.sweep()
        found += problems(space, dump)
        stores += 1
    return {"kills": done, "stores": stores, "problems": found}


if __name__ == "__main__":
    print(json.dumps(main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))))
