"""Wishes said in nearly the same words, as sets of words: order does not matter, most words do."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from math import ceil

SHARED = 0.6
"""Share of common words (of all words of both) from which on two wishes are the same."""

_CROWD = 50  # a word that more groups share tells none of them apart, and looking takes time


def alike(loci: Iterable[str]) -> list[list[str]]:
    """Distinct loci grouped around the first of each group, in sorted order."""
    ordered = sorted(set(loci))
    common = Counter(word for locus in ordered for word in set(locus.split()))
    leaders: list[tuple[frozenset[str], list[str]]] = []
    by_word: dict[str, list[int]] = {}
    for locus in ordered:
        words = frozenset(locus.split())
        # Two sets that share so much share one of the rarest words of each: no need to try all.
        telling = sorted(words, key=lambda word: (common[word], word))
        prefix = telling[: len(words) - ceil(SHARED * len(words)) + 1]
        near = {at for word in prefix for at in by_word.get(word, ())[:_CROWD]}
        best = max(near, key=lambda at: (_jaccard(words, leaders[at][0]), -at), default=None)
        if best is not None and _jaccard(words, leaders[best][0]) >= SHARED:
            leaders[best][1].append(locus)
            continue
        for word in prefix:
            by_word.setdefault(word, []).append(len(leaders))
        leaders.append((words, [locus]))
    return [members for _, members in leaders]


def _jaccard(one: frozenset[str], other: frozenset[str]) -> float:
    shared = len(one & other)
    return shared / max(1, len(one) + len(other) - shared)
