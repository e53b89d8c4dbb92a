"""A first sweep of all genuine logs in one process and in two, by turns."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from statistics import median

from tests.bench.child import Spent
from tests.bench.figures import Figure, Section
from tests.bench.peers_process import run
from tests.bench.peers_tokens import UNREAD_FILES

MB = 1e6
ROUNDS = 5


def processes(put: Callable[[Path], int]) -> Section:
    """`put` copies the logs into a home and says how many bytes they are."""
    spent: dict[int, list[Spent]] = {1: [], 2: []}
    raw = 0
    for _ in range(ROUNDS):
        for jobs, runs in spent.items():
            with tempfile.TemporaryDirectory(prefix="session-memory-bench-") as folder:
                home = Path(folder)
                raw = put(home)
                command = [sys.executable, "-m", "session_memory", "sweep", "--jobs", str(jobs)]
                runs.append(run(command, home, accepted=(0, UNREAD_FILES)))
    one, two = spent.values()
    figures = [
        Figure("one process, by the clock", _wall(one), "s"),
        Figure("two processes, by the clock", _wall(two), "s"),
        Figure("one process", _cpu(one), "CPU s"),
        Figure("two processes", _cpu(two), "CPU s"),
        Figure(
            "two are faster by the clock",
            _wall(one) / _wall(two),
            "times",
            1.35,
            1.6,
            more_is_better=True,
        ),
        Figure("the same, by the medians", _wall(one, median) / _wall(two, median), "times"),
        Figure("CPU of two / of one", _cpu(two) / _cpu(one), "times"),
        Figure("peak memory, one process", max(s.peak_bytes for s in one) / MB, "MB", 300, 200),
    ]
    return Section(
        "First sweep in one process and in two",
        figures,
        (f"{raw / MB:.0f} MB of genuine logs; best of {ROUNDS} runs each",),
    )


def _wall(runs: list[Spent], chosen: Callable[[list[float]], float] = min) -> float:
    return chosen([spent.wall for spent in runs])


def _cpu(runs: list[Spent]) -> float:
    return min(spent.cpu for spent in runs)
