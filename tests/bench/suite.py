"""Which benchmarks there are, in which order they run, and how the result is shown."""

from __future__ import annotations

import argparse
import json
import os
import platform
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from typing import Any

from tests.bench import corpora, ingest, peers_logs
from tests.bench.child import Home, new_home
from tests.bench.figures import Section, table
from tests.bench.hook import hook
from tests.bench.processes import processes
from tests.bench.search import search
from tests.bench.start import start
from tests.bench.unchanged import unchanged

RESULT = corpora.CACHE / "last.json"
NAMES = (
    *("genuine", "copies", "generated", "processes", "stages", "memory", "unchanged", "hook"),
    *("start", "search"),
)
CORPUS_BYTES, QUICK_BYTES = 300_000_000, 6_000_000


def main(argv: Sequence[str] | None = None) -> int:
    """Run what was asked for, print the tables, keep the result as JSON."""
    options = _options(argv)
    total = options.corpus_bytes or (QUICK_BYTES if options.quick else CORPUS_BYTES)
    started, load = time.time(), os.getloadavg()
    sections: list[Section] = []
    for section in _sections(set(options.only or NAMES), total, quick=options.quick):
        sections.append(section)
        if not options.json:
            print(table([section]) + "\n", flush=True)
    result = {
        "at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(started)),
        "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} CPUs",
        "python": platform.python_version(),
        "load_before": load,
        "load_after": os.getloadavg(),
        "sections": [_plain(section) for section in sections],
    }
    RESULT.parent.mkdir(parents=True, exist_ok=True)
    RESULT.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    print(json.dumps(result, indent=1) if options.json else _told(result))
    return 0


def _options(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="tests/bench/run.py", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small corpora: does it run at all?")
    parser.add_argument("--json", action="store_true", help="print JSON only")
    parser.add_argument("--corpus-bytes", type=int, metavar="N", help="size of generated logs")
    parser.add_argument("--only", action="append", choices=NAMES, help="repeatable")
    return parser.parse_args(argv)


def _sections(wanted: set[str], total: int, *, quick: bool) -> Iterator[Section]:
    """The benchmarks one after the other; `start` and `search` use the biggest store made."""
    with ExitStack() as homes:
        biggest: Home | None = None
        for name, find in _CORPORA.items():
            if name not in wanted and not (name == "generated" and wanted & {"start", "search"}):
                continue
            corpus = find(total)
            if corpus is None:
                yield Section(f"{name}: skipped, ../shared is not here", [])
                continue
            home = homes.enter_context(new_home())
            yield ingest.speed(home, corpus, judged=name != "generated")
            biggest = home
        if biggest is None and wanted & {"start", "search"}:
            biggest = homes.enter_context(new_home())
            yield ingest.speed(biggest, corpora.built(total), judged=False)
        if "processes" in wanted and (collections := peers_logs.genuine()):
            yield processes(peers_logs.putting(collections))
        if "stages" in wanted:
            for corpus in _existing(corpora.genuine(), corpora.generated(total), total):
                yield ingest.stages(corpus)
        if "memory" in wanted:
            yield ingest.long_line_memory((70_000_000, 50_000_000))
        if "unchanged" in wanted:
            for count in (1_000,) if quick else (10_000, 50_000):
                yield unchanged(count)
        if "hook" in wanted:
            yield hook(homes.enter_context(new_home()), 5 if quick else 300)
        if biggest is not None and "start" in wanted:
            yield start(biggest, 3 if quick else 20)
        if biggest is not None and "search" in wanted:
            yield search(biggest)


def _genuine(_total: int) -> corpora.Corpus | None:
    return corpora.genuine()


def _copies(total: int) -> corpora.Corpus | None:
    return corpora.genuine_copies(total // 3)


_CORPORA: dict[str, Callable[[int], corpora.Corpus | None]] = {
    "genuine": _genuine,
    "copies": _copies,
    "generated": corpora.generated,
}


def _existing(
    genuine: corpora.Corpus | None, generated: corpora.Corpus | None, total: int
) -> list[corpora.Corpus]:
    """What there is to take apart; our own samples where there is nothing else."""
    found = [corpus for corpus in (genuine, generated) if corpus is not None]
    return found or [corpora.built(total)]


def _plain(section: Section) -> dict[str, Any]:
    figures = [{**figure._asdict(), "verdict": figure.verdict} for figure in section.figures]
    return {"title": section.title, "figures": figures, "notes": section.notes}


def _told(result: dict[str, Any]) -> str:
    loads = " -> ".join(f"{result[name][0]:.2f}" for name in ("load_before", "load_after"))
    where = RESULT.relative_to(corpora.REPOSITORY)
    return (
        f"{result['machine']}, Python {result['python']}; load average {loads}; written to {where}"
    )
