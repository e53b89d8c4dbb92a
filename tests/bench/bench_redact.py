"""Recall, precision and speed of redaction: `make bench-redact LABELLED=file.jsonl`.

Each line of the file is `{"line": "...", "secret_spans": [[start, end], ...]}`, in characters.
Without a file our own labelled lines are taken.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

if not __package__:  # run as a file: the repository is what `tests.bench` is found in
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import msgspec
from tests.bench.redact_figures import Labelled, Score, score
from tests.redact.labelled_lines import ordinary_lines, secret_lines

from session_memory.redact import Redactor


def read(file: str) -> list[Labelled]:
    """The labelled lines of a file; a line that is none is named."""
    lines: list[Labelled] = []
    for number, line in enumerate(Path(file).read_bytes().splitlines(), 1):
        if not line.strip():
            continue
        try:
            lines.append(msgspec.json.decode(line, type=Labelled))
        except msgspec.MsgspecError as error:
            sys.exit(f"{file}:{number}: {error}")
    return lines


def own_lines() -> list[Labelled]:
    """What stands in where no file is named."""
    made = [*secret_lines(1, 4000), *ordinary_lines(1, 4000)]
    return [Labelled(line.text, line.spans) for line in made]


def report(result: Score) -> str:
    """The figures for people."""
    figures = result.figures()
    shown = [
        f"{name.replace('_', ' '):38} {value:.4g}"
        for name, value in figures.items()
        if isinstance(value, int | float)
    ]
    return "\n".join(
        [*shown, "", *(f"{count:8}  {rule}" for rule, count in result.ordered_rules())]
    )


def main() -> int:
    """Print the figures; bad ones are no failure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", nargs="?", help="labelled lines; without it, our own")
    parser.add_argument("--json", action="store_true", help="print JSON, for programs")
    given = parser.parse_args()
    result = score(read(given.file) if given.file else own_lines(), Redactor(b"benchmark"))
    print(json.dumps(result.figures(), indent=2) if given.json else report(result))
    return 0


if __name__ == "__main__":
    sys.exit(main())
