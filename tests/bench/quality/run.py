"""Is what agents are told right? Everything the program tells without a model, against labels.

`make bench-quality` sweeps the labelled logs in a home of its own, makes memory, journal and
injection pages as the worker would, asks for every output through the command line, and scores
them. Labels and logs lie outside the repository; without them there is nothing to score.
Rules are developed on one half of the projects. Misses of the other half stay unread: it says
whether the rules hold elsewhere.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tests.bench.corpora import SHARED
from tests.bench.quality import report
from tests.bench.quality.labels import HALVES, Half, Labels, load_matcher, read_labels
from tests.bench.quality.lying_model import LyingModel
from tests.bench.quality.outputs import collect
from tests.bench.quality.program import Program, has_store
from tests.bench.quality.scoring import score_all

from session_memory.testing.model_server import ModelServer, Play


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    """The options of the command."""
    parser = argparse.ArgumentParser(
        prog="make bench-quality",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--labels", type=Path, default=SHARED / "quality", metavar="DIR")
    place = parser.add_mutually_exclusive_group()
    place.add_argument(
        "--keep", type=Path, metavar="DIR", help="capture anew into DIR and leave it"
    )
    place.add_argument(
        "--store",
        type=Path,
        metavar="DIR",
        help="score what --keep DIR left: digests, MEMORY.md and pages are as they were made then",
    )
    parser.add_argument("--sections", action="store_true", help="count told lines by heading")
    parser.add_argument("--misses", action="store_true", help="list misses and wrong lines")
    parser.add_argument("--unjudged", action="store_true", help="list lines no label judges")
    parser.add_argument("--json", action="store_true", help="print all of it as JSON")
    parser.add_argument("--held-out", action="store_true", help="list those of the report half too")
    parser.add_argument(
        "--model",
        choices=("scripted",),
        help="let a model that lies make the memories, and count which of its statements are kept",
    )
    return parser.parse_args(arguments)


def main(arguments: Sequence[str]) -> int:
    """Score, print, and say how long it took."""
    options = parse(arguments)
    if not (options.labels / "match.py").exists():
        print(f"skipped: no labels at {options.labels}")
        return 0
    if options.store is not None and not has_store(options.store):
        print(f"nothing was captured in {options.store}: use --keep first", file=sys.stderr)
        return 1
    if options.model:
        return _try_lies(options)
    labels = read_labels(options.labels)
    with _program(options) as program:
        began = time.monotonic()
        if options.store is None:
            program.capture(labels.folder / "logs")
        captured = time.monotonic()
        scores = _score(program, labels)
        ended = time.monotonic()
    halves: tuple[Half, ...] = HALVES if options.held_out else ("development",)
    if options.json:
        print(json.dumps(report.as_json(scores, halves), indent=1))
        return 0
    print(report.table(scores))
    if options.sections:
        print(f"\n{report.sections(scores)}")
    for line in report.misses(scores, halves) if options.misses else ():
        print(line)
    for line in report.unjudged(scores, halves) if options.unjudged else ():
        print(line)
    print(f"\ncapture {captured - began:.0f} s, outputs and scores {ended - captured:.0f} s")
    return 0


def _try_lies(options: argparse.Namespace) -> int:
    """Say which statements of a lying model became memory; fails if one of its lies did."""
    model = LyingModel()
    with ModelServer([Play(answer=model.answer)]) as server, _program(options) as program:
        tally = model.tally(program.remember_with(server.url, options.labels / "logs"))
    if options.json:
        print(json.dumps(tally))
    else:
        for kind, (kept, written) in tally.items():
            print(f"{kind:<14} {kept} of {written} kept")
    return int(any(kept for kind, (kept, _) in tally.items() if kind != "honest"))


def _score(program: Program, labels: Labels) -> report.Scores:
    outputs = collect(program, labels)
    return score_all(load_matcher(labels.folder / "match.py"), outputs, labels)


@contextmanager
def _program(options: argparse.Namespace) -> Generator[Program]:
    """The program in the folder that was named, or in one that is gone afterwards."""
    with (
        tempfile.TemporaryDirectory(prefix="session-memory-quality-") as folder,
        Program(options.store or options.keep or Path(folder)) as program,
    ):
        yield program


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
