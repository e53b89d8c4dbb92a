"""How soon the local page answers, and what it weighs, on a generated store.

`python -m tests.bench.web [SESSIONS]` (default 3000, of 5 events each), plus one of 20,000 events.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from tests.bench import corpora
from tests.bench.child import RSS_UNIT, Home, new_home, run
from tests.bench.figures import Figure, Section, percentile, table
from tests.bench.usage import arguments
from tests.web.served import Served

from session_memory.adapters.claude.log_builder import ClaudeLog

SESSIONS, LONG_EVENTS, ROUNDS = 3_000, 20_000, 20
START_MUST_MS, SCREEN_MUST_MS, LONG_MUST_MS, MEMORY_MUST_MB = 500, 200, 1_000, 80
SCREENS = (
    *("/", "/sessions", "/sessions?start=1000", "/search?q=build", "/search?q=no+rule+to+make"),
    *("/rules", "/effect", "/memory", "/usage?days=", "/privacy"),
)


def long_session(target: Path) -> None:
    """One session with `LONG_EVENTS` events."""
    log = ClaudeLog(9, cwd="/work/long")
    log.prompt("Read every file.")
    for number in range(LONG_EVENTS // 2):
        log.run(f"cat file{number}.txt", f"line {number} of the file")
    log.write(target)


def web(home: Home) -> Section:
    """Start the page, open every screen some times, and end it."""
    started = time.perf_counter()
    command = [sys.executable, "-m", "session_memory", "web", "--no-browser"]
    process = subprocess.Popen(
        command, env=home.environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    served = Served(process, process.stdout.readline().strip())
    served.open()
    assert served.ask("/").status == 200
    figures = [Figure("start to first page", _since(started), "ms", START_MUST_MS)]
    for path in SCREENS:
        figures.append(Figure(f"{path}, p95", _p95(served, path), "ms", SCREEN_MUST_MS))
    long_one = served.ask("/sessions?project=long").text.partition('href="/sessions/')[2]
    number = long_one.partition('"')[0]
    for path in (f"/sessions/{number}", f"/sessions/{number}?find=9999"):
        shown = path.replace(number, "LONG")
        figures.append(Figure(f"{shown}, p95", _p95(served, path), "ms", LONG_MUST_MS))
    process.send_signal(signal.SIGINT)
    process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    peak = usage.ru_maxrss * RSS_UNIT / 1_000_000
    figures.append(Figure("peak memory", peak, "MB", MEMORY_MUST_MB))
    return Section("The local page", figures)


def _p95(served: Served, path: str) -> float:
    spent: list[float] = []
    for _ in range(ROUNDS):
        started = time.perf_counter()
        answer = served.ask(path)
        spent.append(_since(started))
        assert answer.status == 200, (path, answer.text)
    return percentile(spent, 0.95)


def _since(started: float) -> float:
    return (time.perf_counter() - started) * 1000


def main() -> int:
    """Build, sweep, measure and print."""
    given = arguments(__doc__)
    count = int(given[0]) if given else SESSIONS
    with new_home() as home:
        corpora.small_files(count, home.root)
        long_session(home.root / "logs")
        logs = (str(home.root / "logs"),)
        run(["-m", "session_memory", "sweep", "--quiet"], home.environment(logs))
        section = web(home)
    print(table([section]))
    print(f"{count:,} sessions of 5 events, one of {LONG_EVENTS:,}")
    print(f"load average {os.getloadavg()[0]:.1f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
