"""Which articles a text is about: words in common, rare ones first, names before plain text."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

from session_memory.core.text.similarity import phrase
from session_memory.journal.articles import Article, list_of

TITLE_WEIGHT = 4.0


def ranked(question: str, articles: Sequence[Article]) -> list[Article]:
    """Articles with something in common with a text, best first."""
    named = [
        words(" ".join((one.title, *list_of(one.front.get("aliases", ()))))) for one in articles
    ]
    scores = scored(question, [words(one.body) for one in articles], named)
    order = sorted(range(len(articles)), key=lambda at: (-scores[at], articles[at].path))
    return [articles[at] for at in order if scores[at] > 0]


def scored(
    question: str, texts: Sequence[frozenset[str]], names: Sequence[frozenset[str]]
) -> list[float]:
    """A score for each text: the rarity of the words it shares with the question."""
    asked = words(question)
    spread = Counter(word for text, name in zip(texts, names, strict=True) for word in text | name)
    rarity = {word: math.log(1 + len(texts) / count) for word, count in spread.items()}
    return [
        sum(rarity[word] for word in asked & text)
        + TITLE_WEIGHT * sum(rarity[word] for word in asked & name)
        for text, name in zip(texts, names, strict=True)
    ]


def words(text: str) -> frozenset[str]:
    """The words of a text that carry meaning, and the parts that names are made of."""
    whole = phrase(text).terms
    parts = (part for word in whole for part in word.replace("/", ".").replace("-", ".").split("."))
    return frozenset((*whole, *(stem(part) for part in parts if len(part) > 2)))


def stem(word: str) -> str:
    """A plural as its singular; enough for words that are looked up, not a theory of English."""
    return word[:-1] if len(word) > 4 and word.endswith("s") and not word.endswith("ss") else word
