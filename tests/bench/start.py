"""How long a user waits for the command line to say anything."""

from __future__ import annotations

from tests.bench.child import Home, run
from tests.bench.figures import Figure, Section, percentile

CASES: tuple[tuple[str, list[str], tuple[float, ...]], ...] = (
    ("bare python", ["-c", "pass"], ()),
    ("--version", ["-m", "session_memory", "--version"], (120, 80)),
    ("status", ["-m", "session_memory", "status"], (300, 200)),
)


def start(home: Home, runs: int) -> Section:
    """Cases take turns, so that load of the machine falls on all of them alike."""
    walls: dict[str, list[float]] = {name: [] for name, _, _ in CASES}
    cpus: dict[str, list[float]] = {name: [] for name, _, _ in CASES}
    for _ in range(runs):
        for name, arguments, _ in CASES:
            spent = run(arguments, home.environment())
            walls[name].append(spent.wall * 1000)
            cpus[name].append(spent.cpu * 1000)
    figures: list[Figure] = []
    for name, _, budget in CASES:
        figures += [
            Figure(f"{name}, p50", percentile(walls[name], 0.5), "ms", *budget),
            Figure(f"{name}, p95", percentile(walls[name], 0.95), "ms", *budget),
            Figure(f"{name}, CPU p50", percentile(cpus[name], 0.5), "ms"),
        ]
    return Section(f"Start of the command line, {runs} runs", figures)
