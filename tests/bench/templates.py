"""How well texts are grouped: accuracy on labelled log lines, system by system, nothing tuned.

A line counts when the lines grouped with it are exactly those that carry its label.
"""

from __future__ import annotations

import csv
import sys
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

from tests.bench.usage import arguments

if not __package__:  # run as a file: the repository is what `tests.bench` is found in
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from session_memory.detect.templates import group

LABELLED = Path(__file__).resolve().parents[3] / "shared" / "bench"


def accuracy(lines: Sequence[tuple[str, str]]) -> float:
    """Share of (text, label) lines whose group is that of their label."""
    place = {text: at for at, one in enumerate(group(t for t, _ in lines)) for text in one.members}
    ours: dict[int, set[int]] = defaultdict(set)
    theirs: dict[str, set[int]] = defaultdict(set)
    for number, (text, label) in enumerate(lines):
        ours[place[text]].add(number)
        theirs[label].add(number)
    right = sum(ours[place[text]] == theirs[label] for text, label in lines)
    return right / len(lines)


def read(path: Path) -> list[tuple[str, str]]:
    """The lines of one system with their labels."""
    with path.open(encoding="utf-8", newline="") as file:
        return [(row["Content"], row["EventId"]) for row in csv.DictReader(file)]


def main() -> int:
    """Print the accuracy of each system and their mean."""
    found = {path.stem.removeprefix("loghub_"): accuracy(read(path)) for path in files()}
    if not found:
        print(f"no labelled lines at {LABELLED.name}")
        return 1
    for name, share in found.items():
        print(f"{name:12} {100 * share:5.1f}")
    print(f"{'mean':12} {100 * sum(found.values()) / len(found):5.1f}")
    return 0


def files() -> list[Path]:
    """The labelled files that are here."""
    return sorted(LABELLED.glob("loghub_*.csv"))


if __name__ == "__main__":
    arguments(__doc__)
    sys.exit(main())
