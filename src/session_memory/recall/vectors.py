"""Word vectors as a second opinion on the order of hits: optional, off by default, never fetched.

A folder that the user names holds `words.txt` (one word a line) and `vectors.npy` (a row for each);
`scripts/word_vectors.py` makes it of any file of word vectors. What the full-text search found is
only put into another order: vectors find nothing that words did not, and nothing about them is
stored, so there is nothing to forget.
"""

from __future__ import annotations

import importlib
import math
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from session_memory.errors import ConfigError

WORDS, VECTORS = "words.txt", "vectors.npy"
TEXT_WORDS = 400
"""Words of a text that are looked at: its topic shows early."""
_WORD = re.compile(r"[^\W_]+")

Likeness = Callable[[str, Sequence[str]], list[float]]
"""How near each text is to a question, from -1 to 1; 0 where nothing is known of its words."""


def open_vectors(folder: str) -> Likeness:
    """The vectors in a folder; rows are read from the file as they are needed."""
    try:
        numpy = importlib.import_module("numpy")
    except ImportError as error:
        raise ConfigError(
            "recall.vectors needs numpy", hint="pip install 'session-memory[vectors]'"
        ) from error
    place = Path(folder)
    try:
        words = (place / WORDS).read_text(encoding="utf-8").split("\n")
        table: Any = numpy.load(place / VECTORS, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError) as error:
        raise ConfigError(f"recall.vectors: {folder} cannot be read: {error}") from error
    numbers = {word: number for number, word in enumerate(words) if word}
    if table.ndim != 2 or len(table) < len(numbers):
        raise ConfigError(f"recall.vectors: {folder} does not hold one row for each word")

    def vector(text: str) -> list[float] | None:
        rows = [numbers[word] for word in _words(text) if word in numbers]
        if not rows:
            return None
        mean: list[float] = table[rows].astype("float64").mean(axis=0).tolist()
        return mean

    def likeness(question: str, texts: Sequence[str]) -> list[float]:
        wanted = vector(question)
        if wanted is None:
            return [0.0] * len(texts)
        return [cosine(wanted, one) if (one := vector(text)) else 0.0 for text in texts]

    return likeness


def cosine(one: Sequence[float], other: Sequence[float]) -> float:
    """The cosine between two vectors; 0 where one has no direction."""
    product = math.sqrt(sum(x * x for x in one)) * math.sqrt(sum(x * x for x in other))
    return sum(x * y for x, y in zip(one, other, strict=True)) / product if product else 0.0


def reordered(scores: Sequence[float], likeness: Sequence[float], weight: float) -> list[int]:
    """Places in the new order: the score of the words, and the likeness by its weight."""
    best = max(scores, default=0.0) or 1.0
    value = [score / best + weight * near for score, near in zip(scores, likeness, strict=True)]
    return sorted(range(len(value)), key=lambda place: (-value[place], place))


def _words(text: str) -> list[str]:
    return _WORD.findall(text.lower())[:TEXT_WORDS]
