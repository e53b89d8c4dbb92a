"""Makes the folder that `recall.vectors` names, of a file with a word and its numbers a line.

    python scripts/word_vectors.py vectors.txt FOLDER

Nothing is fetched: the file is yours. Needs numpy (`pip install 'session-memory[vectors]'`).
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np


def main(source: str, folder: str) -> int:
    """Read the lines, keep those that are a word and as many numbers as the first has."""
    words: list[str] = []
    rows: list[list[float]] = []
    with open(source, encoding="utf-8", errors="replace") as lines:
        for line in lines:
            word, *numbers = line.split() or [""]
            if rows and len(numbers) != len(rows[0]):
                continue
            try:
                row = [float(number) for number in numbers]
            except ValueError:
                continue
            if len(row) > 1:  # a first line may tell the counts
                words.append(word.lower())
                rows.append(row)
    place = Path(folder)
    place.mkdir(parents=True, exist_ok=True)
    (place / "words.txt").write_text("\n".join(words), encoding="utf-8")
    np.save(place / "vectors.npy", np.asarray(rows, dtype="float16"))
    print(f"{len(words)} words in {place}")
    return 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Makes the folder that recall.vectors names.")
    parser.add_argument("source", help="text file: a word and its numbers on each line")
    parser.add_argument("folder", help="where to write words.txt and vectors.npy")
    options = parser.parse_args()
    sys.exit(main(options.source, options.folder))
