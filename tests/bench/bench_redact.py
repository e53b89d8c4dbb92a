"""Recall, precision and speed of redaction: `make bench-redact LABELLED=file.jsonl`.

Each line of the file is `{"line": "...", "secret_spans": [[start, end], ...]}`, in characters.
Without a file our own labelled lines are taken, and then texts made from grammars of formats: the
families that rules were tried on ("develop") apart from those that were held back.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

if not __package__:  # run as a file: the repository is what `tests.bench` is found in
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import msgspec
from tests.bench import redact_families
from tests.bench.redact_figures import Labelled, Score, score
from tests.redact.labelled_lines import ordinary_lines, secret_lines

from session_memory.redact import Redactor

SHARED_LOGS = Path(__file__).resolve().parents[3] / "shared"


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
    parser.add_argument("--logs", type=Path, help="ordinary lines come from here, else ../shared")
    parser.add_argument("--part", choices=redact_families.PARTS, help="families of one part alone")
    given = parser.parse_args()
    redactor = Redactor(b"benchmark")
    figures: dict[str, object] = {}
    shown: list[str] = []
    if not given.part:
        result = score(read(given.file) if given.file else own_lines(), redactor)
        figures |= result.figures()
        shown.append(report(result))
    logs = given.logs or next(filter(Path.is_dir, [SHARED_LOGS]), None)
    chosen = [given.part] if given.part else [] if given.file else redact_families.PARTS
    for name in chosen:
        part = redact_families.measure(name, redactor, logs)
        figures[name] = part.figures()
        shown.append(redact_families.report(name, part))
    print(json.dumps(figures, indent=2) if given.json else "\n\n".join(shown))
    return 0


if __name__ == "__main__":
    sys.exit(main())
