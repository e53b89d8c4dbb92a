"""Word vectors that reorder search hits: optional, off by default, never downloaded.

The user names a folder with `words.txt` (one word per line) and `vectors.npy` (one row per word);
`scripts/word_vectors.py` makes one from any file of word vectors. Vectors only reorder what the
full-text search found. They find nothing new and nothing about them is stored, so there is nothing
to forget.
"""

from __future__ import annotations

import importlib
import math
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec

from session_memory.errors import ConfigError, extra_hint

WORDS, VECTORS = "words.txt", "vectors.npy"
TEXT_WORDS = 400
"""Words of a text that are compared: its topic shows early."""
_WORD = re.compile(r"[^\W_]+")

Similarity = Callable[[str, Sequence[str]], list[float]]
"""How similar each text is to a query, from -1 to 1; 0 where none of its words is known."""


class VectorRanking(msgspec.Struct, frozen=True):
    """Word vectors, and how much they count against the full-text score."""

    similarity: Similarity
    weight: float


def open_vectors(folder: str) -> Similarity:
    """The vectors in a folder; rows are read from the file as they are needed."""
    try:
        numpy = importlib.import_module("numpy")
    except ImportError as error:
        raise ConfigError("recall.vectors needs numpy", hint=extra_hint("vectors")) from error
    directory = Path(folder)
    try:
        words = (directory / WORDS).read_text(encoding="utf-8").split("\n")
        table: Any = numpy.load(directory / VECTORS, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError) as error:
        raise ConfigError(f"recall.vectors: {folder} cannot be read: {error}") from error
    row_of = {word: row for row, word in enumerate(words) if word}
    if table.ndim != 2 or len(table) < len(row_of):
        raise ConfigError(f"recall.vectors: {folder} does not hold one row for each word")

    def vector(text: str) -> list[float] | None:
        rows = [row_of[word] for word in _words(text) if word in row_of]
        if not rows:
            return None
        mean: list[float] = table[rows].astype("float64").mean(axis=0).tolist()
        return mean

    def similarity(query: str, texts: Sequence[str]) -> list[float]:
        target = vector(query)
        if target is None:
            return [0.0] * len(texts)
        vectors = [vector(text) for text in texts]
        return [cosine(target, other) if other else 0.0 for other in vectors]

    return similarity


def cosine(left: Sequence[float], right: Sequence[float]) -> float:
    """The cosine between two vectors; 0 where one of them is zero."""
    product = math.sqrt(sum(x * x for x in left)) * math.sqrt(sum(x * x for x in right))
    return sum(x * y for x, y in zip(left, right, strict=True)) / product if product else 0.0


def reordered(scores: Sequence[float], similarity: Sequence[float], weight: float) -> list[int]:
    """Positions in the new order: full-text score plus weighted similarity."""
    best = max(scores, default=0.0) or 1.0
    value = [score / best + weight * near for score, near in zip(scores, similarity, strict=True)]
    return sorted(range(len(value)), key=lambda index: (-value[index], index))


def _words(text: str) -> list[str]:
    return _WORD.findall(text.lower())[:TEXT_WORDS]
