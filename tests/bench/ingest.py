"""Sweeps in a process of their own: speed, peak memory, size of the store."""

from __future__ import annotations

import json
from pathlib import Path
from typing import NamedTuple

from tests.bench.child import Home, Spent, new_home, run, run_json
from tests.bench.corpora import Corpus, long_lines
from tests.bench.figures import Figure, Section

MB = 1e6
SWEEP = ["-m", "session_memory", "sweep", "--json"]
LINE_CAP = 64 * 1024 * 1024
STAGE_BYTES = 64_000_000
REPEAT_BYTES = 300_000_000
MOST_RUNS = 9
BIG_FILE = 90_000_000
"""The memory budget is for logs with a file of about 100 MB: only there it is judged."""
INDEX_TABLES = ("event_text", "turn_text", "observation_text")


class Size(NamedTuple):
    """Bytes of a store, and of its full-text tables."""

    total: int
    index: int


def sweep(home: Home, corpus: Corpus) -> Spent:
    """One sweep of all logs of a corpus."""
    return run(SWEEP, home.environment(corpus.roots))


def size_of(home: Home) -> Size:
    """What the store takes on disk; the index by the pages of its tables."""
    from session_memory.store.sqlite.connection import connect, rows

    total = sum(path.stat().st_size for path in home.store.rglob("*") if path.is_file())
    db = connect(str(home.store / "store.db"), read_only=True)
    pages = rows(db, "SELECT name, sum(pgsize) FROM dbstat GROUP BY name")
    db.close()
    return Size(total, sum(size for name, size in pages if name.startswith(INDEX_TABLES)))


def best(attempts: list[Spent]) -> Spent:
    """The attempt that was disturbed least, with the highest peak of all."""
    peak = max(spent.peak_bytes for spent in attempts)
    return min(attempts, key=lambda spent: spent.cpu)._replace(peak_bytes=peak)


def repeated(corpus: Corpus) -> int:
    """How often a corpus is measured: load of the machine shows most on what is short."""
    return max(1, min(MOST_RUNS, round(REPEAT_BYTES / corpus.bytes)))


class Turns(NamedTuple):
    """The best of several runs of each kind, and the bytes of the loop's database."""

    sweep: Spent
    parse: Spent
    loop: Spent
    loop_bytes: int


def in_turns(home: Home, corpus: Corpus) -> Turns:
    """First sweeps, bare parsing and the indexing loop by turns; the last store stays in `home`.

    A host that is slow for ten seconds would otherwise be slow for one of them alone.
    """
    sweeps: list[Spent] = []
    parses: list[Spent] = []
    loops: list[Spent] = []
    size = 0
    program = ["-m", "tests.bench.baseline"]
    for turn in range(repeated(corpus), 0, -1):
        with new_home() as other:
            sweeps.append(sweep(other if turn > 1 else home, corpus))
        with new_home() as other:
            database = str(other.root / "baseline.db")
            parses.append(run([*program, "parse", *corpus.roots], other.environment()))
            loops.append(run([*program, "index", database, *corpus.roots], other.environment()))
            size = Path(database).stat().st_size
    return Turns(best(sweeps), best(parses), best(loops), size)


def speed(home: Home, corpus: Corpus, *, judged: bool) -> Section:
    """A sweep beside bare parsing and the simplest indexing loop, on the same logs.

    The budgets are for genuine logs; for others the same figures stand without a verdict.
    """
    spent, parse, loop, loop_bytes = in_turns(home, corpus)
    size = size_of(home)
    raw, unit = corpus.bytes / MB, "MB per CPU s"
    pace, whole, bare = ((20, 40), (0.45, 0.35), (0.26, 0.22)) if judged else ((), (), ())
    memory = (300, 200) if corpus.largest >= BIG_FILE else ()
    without = (size.total - size.index) / corpus.bytes
    figures = [
        Figure("sweep, everything on", raw / spent.cpu, unit, *pace, more_is_better=True),
        Figure("bare read + json (process)", raw / parse.cpu, unit),
        Figure("25-line json + FTS5 loop (process)", raw / loop.cpu, unit),
        Figure("sweep / loop, CPU for the same logs", spent.cpu / loop.cpu, "times"),
        Figure("sweep, wall", raw / spent.wall, "MB per s"),
        Figure("store / raw", size.total / corpus.bytes, "", *whole),
        Figure("store / raw, without index", without, "", *bare),
        Figure("loop: database / raw", loop_bytes / corpus.bytes, ""),
        Figure("peak memory of the sweep", spent.peak_bytes / MB, "MB", *memory),
    ]
    logs = f"{corpus.files} files, {raw:.0f} MB, largest {corpus.largest / MB:.0f} MB"
    note = f"{logs}; best of {repeated(corpus)}"
    return Section(f"Sweep of {corpus.name} logs", figures, (note,))


def stages(corpus: Corpus) -> Section:
    """Each stage alone, in MB of raw log per CPU second."""
    with new_home() as home:
        arguments = ["-m", "tests.bench.stages", str(STAGE_BYTES), *corpus.roots]
        result = run_json(arguments, home.environment())
    figures = [
        Figure(name, result["bytes"] / MB / max(spent, 1e-9), "MB per CPU s")
        for name, spent in result["stages"].items()
    ]
    text = result["text_bytes"] / MB / result["stages"]["redact"]
    unit = "MB text per CPU s"
    figures.append(Figure("redact, by text", text, unit, 40, 100, more_is_better=True))
    shares = "; ".join(f"{name} {spent:.2f}" for name, spent in result["stages"].items())
    raw, text_mb = result["bytes"] / MB, result["text_bytes"] / MB
    content = f"{raw:.0f} MB, {text_mb:.1f} MB of it text, {result['events']} events"
    notes = (content, f"CPU seconds: {shares}")
    return Section(f"Stages on {corpus.name} logs", figures, notes)


def long_line_memory(lengths: tuple[int, ...]) -> Section:
    """Peak memory with one line over the cap, which is passed over, and one below it."""
    figures: list[Figure] = []
    notes: list[str] = []
    for length in lengths:
        with new_home() as home:
            corpus = long_lines(home.root / "logs", (length,))
            spent = sweep(home, corpus)
        taken = length if length < LINE_CAP else 0
        skipped = json.loads(spent.output)["too_long"]
        if skipped != (taken == 0):
            raise SystemExit(f"{skipped} lines were passed over where the cap says otherwise")
        bound = 300 + taken / MB
        what = f"peak memory, one line of {length / MB:.0f} MB"
        figures.append(Figure(what, spent.peak_bytes / MB, "MB", bound, 200))
        notes.append(f"{length / MB:.0f} MB line: {spent.cpu:.2f} CPU s")
    return Section("Long lines", figures, tuple(notes))
