"""How soon the local page answers, and what it weighs, compared with agentsview on the same logs.

`python -m tests.bench.web [EVENTS]` (default 100,000) writes a year of generated logs, lets both
programs read them, and measures. `--home DIR` takes a home that an earlier run filled (`--keep DIR`
leaves one): reading a million events takes minutes.
"""

from __future__ import annotations

import http.client
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

from tests.bench import peers_install
from tests.bench.child import new_home
from tests.bench.figures import Figure, Section, percentile, table
from tests.bench.peers_process import environment
from tests.bench.usage import arguments
from tests.bench.web_logs import LONG_EVENTS, write_year
from tests.web.served import Served

EVENTS, ROUNDS, STARTS = 100_000, 20, 3
START_MUST_MS, SCREEN_MUST_MS, LONG_MUST_MS, MEMORY_MUST_MB = 500, 200, 1_000, 80
SCREENS = (
    *("/", "/sessions", "/sessions?start=1000", "/search?q=checkout+parser"),
    *("/search?q=no+rule+to+make+target", "/rules", "/effect", "/memory", "/memory/project01"),
    *("/usage", "/usage?days=&by=day", "/usage?days=&by=project", "/privacy", "/health"),
)
DASHBOARD = ("/", "/api/v1/stats", "/api/v1/sessions?limit=20")
"""What agentsview asks itself for before it shows anything."""


class Started(NamedTuple):
    """A program that shows its first page."""

    wall_ms: float
    cpu_ms: float
    peak_mb: float


def web(home: Path, peer: Path | None) -> list[Section]:
    """Start both turn and turn about, then open every screen of ours some times."""
    ours: list[Started] = []
    theirs: list[Started] = []
    for _ in range(STARTS):
        ours.append(_start_ours(home))
        if peer is not None:
            theirs.append(_start_peer(home, peer))
    figures = _started("session-memory", ours, START_MUST_MS)
    figures += _started("agentsview", theirs, None) if theirs else []
    return [Section("From the command to the first page", figures), _screens(home)]


def _started(name: str, runs: list[Started], must: float | None) -> list[Figure]:
    best = min(runs)
    return [
        Figure(f"{name}: first page, best of {STARTS}", best.wall_ms, "ms", must),
        Figure(f"{name}: CPU of it", min(run.cpu_ms for run in runs), "ms"),
        Figure(f"{name}: peak memory so far", min(run.peak_mb for run in runs), "MB"),
    ]


def _serve(home: Path) -> Served:
    command = [sys.executable, "-m", "session_memory", "web", "--no-browser"]
    process = subprocess.Popen(
        command,
        env=environment(home),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        stdin=subprocess.DEVNULL,
        text=True,
    )
    assert process.stdout is not None
    return Served(process, process.stdout.readline().strip())


def _start_ours(home: Path) -> Started:
    began = time.perf_counter()
    served = _serve(home)
    served.open()
    assert served.ask("/").status == 200
    started = Started(_since(began), _cpu_ms(served.process.pid), _peak_mb(served.process.pid))
    served.end()
    return started


def _start_peer(home: Path, program: Path) -> Started:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    began = time.perf_counter()
    process = subprocess.Popen(
        [str(program), "serve", "--no-browser", "--port", str(port)],
        env=environment(home),
        cwd=home,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        stdin=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        for path in DASHBOARD:
            _wait_for(port, path)
        return Started(_since(began), _cpu_ms(process.pid), _peak_mb(process.pid))
    finally:
        os.killpg(process.pid, signal.SIGTERM)
        process.wait(60)


def _wait_for(port: int, path: str) -> None:
    """Ask until somebody listens and answers."""
    limit = time.monotonic() + 120
    while time.monotonic() < limit:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        try:
            connection.request("GET", path)
            connection.getresponse().read()
            return
        except OSError:
            time.sleep(0.01)
        finally:
            connection.close()
    raise OSError("agentsview did not answer")


def _screens(home: Path) -> Section:
    served = _serve(home)
    served.open()
    figures: list[Figure] = []
    for path in SCREENS:
        figures += _screen(served, path, path, SCREEN_MUST_MS)
    listed = served.ask("/sessions?project=long").text.partition('href="/sessions/')[2]
    number = listed.partition('"')[0]
    long_one = f"session of {LONG_EVENTS:,} events"
    figures += _screen(served, f"/sessions/{number}", long_one, LONG_MUST_MS)
    figures += _screen(served, f"/sessions/{number}?find=9999", f"find in it, {long_one}", None)
    figures += _screen(served, "/health/check", "/health/check", None)
    peak = _peak_mb(served.process.pid)
    figures.append(Figure("peak memory after all of it", peak, "MB", MEMORY_MUST_MB))
    served.end()
    notes = (
        "CPU is what the server spent on one request, on average; the clock depends on the load",
        f"p95 of {ROUNDS} requests each, the first one included",
    )
    return Section("Screens", figures, notes)


def _screen(served: Served, path: str, name: str, must: float | None) -> list[Figure]:
    spent: list[float] = []
    before = _cpu_ms(served.process.pid)
    for _ in range(ROUNDS):
        began = time.perf_counter()
        answer = served.ask(path)
        spent.append(_since(began))
        assert answer.status == 200, (path, answer.text)
    cpu = (_cpu_ms(served.process.pid) - before) / ROUNDS
    return [
        Figure(f"{name}, p95", percentile(spent, 0.95), "ms", must),
        Figure(f"{name}, CPU", cpu, "ms"),
    ]


def _since(began: float) -> float:
    return (time.perf_counter() - began) * 1000


def _cpu_ms(pid: int) -> float:
    """What a process has used so far (Linux)."""
    fields = Path(f"/proc/{pid}/stat").read_text("utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) * 1000 / os.sysconf("SC_CLK_TCK")


def _peak_mb(pid: int) -> float:
    status = Path(f"/proc/{pid}/status").read_text("utf-8")
    return int(status.partition("VmHWM:")[2].split()[0]) / 1000


def fill(home: Path, events: int, peer: Path | None) -> None:
    """Write the logs and let both programs read them."""
    write_year(events, home / ".claude")
    ours = [sys.executable, "-m", "session_memory", "sweep", "--quiet"]
    for command in (ours, *([[str(peer), "sync"]] if peer is not None else [])):
        subprocess.run(command, env=environment(home), cwd=home, check=True, capture_output=True)


def _peer() -> Path | None:
    try:
        return peers_install.agentsview()
    except OSError as error:
        print(f"without agentsview: {error}", file=sys.stderr)
        return None


def main() -> int:
    """Build, sweep, measure and print."""
    given, peer = arguments(__doc__), _peer()
    if given[:1] == ["--home"]:
        sections = web(Path(given[1]), peer)
    else:
        kept = Path(given[given.index("--keep") + 1]) if "--keep" in given else None
        numbers = [int(word) for word in given if word.isdigit()]
        with new_home() as home:
            fill(home.root, numbers[0] if numbers else EVENTS, peer)
            sections = web(home.root, peer)
            if kept is not None:
                shutil.copytree(home.root, kept)
    print(table(sections))
    print(f"load average {os.getloadavg()[0]:.1f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
