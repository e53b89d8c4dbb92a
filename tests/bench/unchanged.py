"""A sweep that finds nothing new, beside the least that looking at so many files costs."""

from __future__ import annotations

from tests.bench.child import new_home, run
from tests.bench.corpora import small_files
from tests.bench.figures import Figure, Section, percentile
from tests.bench.ingest import SWEEP, sweep

RUNS = 7
BUDGETS = {10_000: (0.25, 0.15), 50_000: (1.0, 0.5)}
_STAT = """
import os, sys
stack = [sys.argv[1]]
while stack:
    for entry in os.scandir(stack.pop()):
        if entry.is_dir(follow_symlinks=False):
            stack.append(entry.path)
        else:
            entry.stat()
"""


def unchanged(count: int) -> Section:
    """Sweep once, then again and again; the median counts, wall and CPU of the whole process."""
    with new_home() as home:
        corpus = small_files(count, home.root / "small")
        first = sweep(home, corpus)
        again = [run(SWEEP, home.environment(corpus.roots)) for _ in range(RUNS)]
        bare = [run(["-I", "-c", _STAT, corpus.roots[0]], home.environment()) for _ in range(RUNS)]
        start = [run(["-I", "-c", "pass"], home.environment()) for _ in range(RUNS)]
    if f'"skipped_unchanged":{count}' not in again[-1].output.replace(" ", ""):
        raise SystemExit(f"the second sweep of {count} files did not find all of them unchanged")
    figures = [
        Figure(
            "wall, median", percentile([s.wall for s in again], 0.5), "s", *BUDGETS.get(count, ())
        ),
        Figure("wall, best", min(s.wall for s in again), "s"),
        Figure("CPU, median", percentile([s.cpu for s in again], 0.5), "s"),
        Figure("bare scandir + stat, wall", percentile([s.wall for s in bare], 0.5), "s"),
        Figure("bare scandir + stat, CPU", percentile([s.cpu for s in bare], 0.5), "s"),
        Figure("interpreter alone, wall", percentile([s.wall for s in start], 0.5), "s"),
        Figure("first sweep, CPU", first.cpu, "s"),
        Figure("first sweep, wall", first.wall, "s"),
    ]
    peak = f"peak memory of the unchanged sweep {again[-1].peak_bytes / 1e6:.0f} MB"
    note = f"{corpus.bytes / 1e6:.0f} MB in all; {peak}"
    return Section(f"Unchanged sweep of {count} files", figures, (note,))
