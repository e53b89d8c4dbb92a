"""Ranks articles for a text by common words: rare words and words of names count more."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

from session_memory.core.text.similarity import phrase
from session_memory.journal.articles import Article, list_of

TITLE_WEIGHT = 4.0


def ranked(question: str, articles: Sequence[Article]) -> list[Article]:
    """Articles that share words with a text, best first."""
    names = [
        words(" ".join((article.title, *list_of(article.front.get("aliases", ())))))
        for article in articles
    ]
    scores = score_texts(question, [words(article.body) for article in articles], names)
    pairs = sorted(zip(scores, articles, strict=True), key=lambda pair: (-pair[0], pair[1].path))
    return [article for score, article in pairs if score > 0]


def score_texts(
    question: str, texts: Sequence[frozenset[str]], names: Sequence[frozenset[str]]
) -> list[float]:
    """A score for each text: the rarity of the words it shares with the question."""
    question_words = words(question)
    counts = Counter(word for text, name in zip(texts, names, strict=True) for word in text | name)
    rarity = {word: math.log(1 + len(texts) / count) for word, count in counts.items()}
    return [
        sum(rarity[word] for word in question_words & text)
        + TITLE_WEIGHT * sum(rarity[word] for word in question_words & name)
        for text, name in zip(texts, names, strict=True)
    ]


def words(text: str) -> frozenset[str]:
    """The meaningful words of a text, and the parts of names such as `src/lexer.py`."""
    terms = phrase(text).terms
    parts = (part for term in terms for part in term.replace("/", ".").replace("-", ".").split("."))
    return frozenset((*terms, *(_singular(part) for part in parts if len(part) > 2)))


def _singular(word: str) -> str:
    """A plural as its singular: a rough rule that is good enough for lookups."""
    return word[:-1] if len(word) > 4 and word.endswith("s") and not word.endswith("ss") else word
