"""How soon an agent has our tools: process start to tools/list answered, and what it weighs.

`python -m tests.bench.mcp_start [RUNS]`, beside a bare interpreter in the same run.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from typing import NamedTuple

from tests.bench.child import RSS_UNIT, Home, new_home
from tests.bench.figures import Figure, Section, percentile, table
from tests.bench.usage import arguments

MUST_MS, GOAL_MS = 500, 200
MUST_MB, GOAL_MB = 60, 40
_SAID = [
    {
        "jsonrpc": "2.0",
        "id": 0,
        "method": "initialize",
        "params": {
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": {"name": "codex-mcp-client", "version": "1"},
        },
    },
    {"jsonrpc": "2.0", "method": "notifications/initialized"},
    {"jsonrpc": "2.0", "id": 1, "method": "tools/list"},
]


class Spent(NamedTuple):
    """What one server cost until a client had its tools."""

    listed_ms: float
    cpu_ms: float
    """Of its whole life, the end included."""
    peak_mb: float


def bare(home: Home) -> float:
    """Milliseconds of an interpreter that does nothing."""
    started = time.perf_counter()
    subprocess.run([sys.executable, "-c", "pass"], env=home.environment(), check=True)
    return (time.perf_counter() - started) * 1000


def server(home: Home) -> Spent:
    """Start a server, shake hands, list the tools, leave."""
    started = time.perf_counter()
    with subprocess.Popen(
        [sys.executable, "-m", "session_memory", "mcp"],
        env=home.environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for message in _SAID:
            process.stdin.write(json.dumps(message).encode() + b"\n")
            process.stdin.flush()
            if "id" in message:
                answer = json.loads(process.stdout.readline())
        listed = (time.perf_counter() - started) * 1000
        assert answer["result"]["tools"]
        process.stdin.close()
        process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    cpu = (usage.ru_utime + usage.ru_stime) * 1000
    return Spent(listed, cpu, usage.ru_maxrss * RSS_UNIT / 1_000_000)


def mcp_start(home: Home, runs: int) -> Section:
    """Both take turns, so that load of the machine falls on them alike."""
    nothing: list[float] = []
    spent: list[Spent] = []
    for _ in range(runs):
        nothing.append(bare(home))
        spent.append(server(home))
    listed = [one.listed_ms for one in spent]
    return Section(
        f"MCP server, {runs} starts",
        [
            Figure("bare python, p50", percentile(nothing, 0.5), "ms"),
            Figure("bare python, p95", percentile(nothing, 0.95), "ms"),
            Figure("tools/list answered, p50", percentile(listed, 0.5), "ms", MUST_MS, GOAL_MS),
            Figure("tools/list answered, p95", percentile(listed, 0.95), "ms", MUST_MS, GOAL_MS),
            Figure("CPU, p50", percentile([one.cpu_ms for one in spent], 0.5), "ms"),
            Figure("peak memory", max(one.peak_mb for one in spent), "MB", MUST_MB, GOAL_MB),
        ],
    )


def main() -> int:
    """Measure and print."""
    given = arguments(__doc__)
    runs = int(given[0]) if given else 30
    with new_home() as home:
        section = mcp_start(home, runs)
    print(table([section]))
    print(f"load average {os.getloadavg()[0]:.1f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
