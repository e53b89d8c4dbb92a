"""When two short texts mean the same thing: equal words, one inside the other, or the same terms.

A wrong yes closes work that is still open, a wrong no leaves a line too many: in doubt, no.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

import msgspec

from session_memory.core.text.ascii_words import with_ascii_words
from session_memory.regex_cache import compiled

CONTAINED_CHARS = 18
_MIN_TERMS = 3
_WORD = compiled(r"\w+(?:[.\-/:#']\w+)*")
_ASCII_WORD = compiled(_WORD.pattern, re.A)
_TAG = compiled(r"\[REDACTED_SECRET:[^\]\s]{1,64}\]")
_SMALL = frozenset(
    [
        "a",
        "an",
        "and",
        "are",
        "as",
        "at",
        "be",
        "been",
        "by",
        "for",
        "from",
        "has",
        "have",
        "in",
        "into",
        "is",
        "it",
        "its",
        "now",
        "of",
        "on",
        "or",
        "so",
        "that",
        "the",
        "then",
        "there",
        "this",
        "to",
        "was",
        "we",
        "were",
        "will",
        "with",
        "done",
        "completed",
        "finished",
        "all",
    ]
)
_AGAINST = frozenset(
    ["not", "no", "never", "without", "cannot", "can't", "don't", "doesn't", "isn't", "won't"]
)


class Phrase(msgspec.Struct, frozen=True):
    """A text prepared for comparison."""

    words: str
    """Lower case, one blank between words, no punctuation around them."""
    terms: frozenset[str]
    """The words that carry meaning."""


def untagged(text: str) -> str:
    """The text with placeholders of secrets as every store shows them."""
    return _TAG.sub("[REDACTED_SECRET]", text) if "[REDACTED_SECRET:" in text else text


def phrase(text: str) -> Phrase:
    """Prepare a text."""
    words = _words(text)
    return Phrase(" ".join(words), frozenset(words) - _SMALL)


def plain_words(text: str) -> str:
    """The words of a text as they are compared."""
    return " ".join(_words(text))


def _words(text: str) -> list[str]:
    text = untagged(text).replace("’", "'").casefold()
    plain = with_ascii_words(text)
    return _WORD.findall(text) if plain is None else _ASCII_WORD.findall(plain)


def same_thing(one: Phrase, other: Phrase) -> bool:
    """Whether what `other` says is about exactly what `one` says."""
    if not one.words or not other.words:
        return False
    if one.words == other.words:
        return True
    if one.terms & _AGAINST != other.terms & _AGAINST:
        return False
    short, long = sorted((one, other), key=lambda each: len(each.words))
    if not _comparable(short, long):
        return False
    if len(short.words) >= CONTAINED_CHARS and f" {short.words} " in f" {long.words} ":
        return True
    fewer, more = sorted((one.terms, other.terms), key=len)
    return len(fewer) >= _MIN_TERMS and fewer <= more


def _comparable(short: Phrase, long: Phrase) -> bool:
    """A part must be most of the whole: "write tests" does not settle "write tests and docs"."""
    fewer, more = sorted((len(short.terms), len(long.terms)))
    return fewer > 0 and fewer * 3 >= more * 2


class PhraseIndex:
    """Phrases that can be asked for those which mean the same, without comparing with each."""

    def __init__(self, phrases: Iterable[Phrase]) -> None:
        self._phrases = list(phrases)
        self._by_words: dict[str, list[int]] = {}
        self._by_term: dict[str, list[int]] = {}
        for number, known in enumerate(self._phrases):
            self._by_words.setdefault(known.words, []).append(number)
            for term in known.terms:
                self._by_term.setdefault(term, []).append(number)

    def alike(self, wanted: Phrase) -> list[int]:
        """Places of the phrases that mean the same, in order."""
        places = set(self._by_words.get(wanted.words, ())) if wanted.words else set[int]()
        # Of two that are alike at least two thirds of the wanted terms are common, so that one of
        # them is among any third and one more: the rarest are the cheapest to look up.
        ranked = sorted(wanted.terms, key=lambda term: (len(self._by_term.get(term, ())), term))
        near = {
            number
            for term in ranked[: len(ranked) // 3 + 1]
            for number in self._by_term.get(term, ())
        }
        places.update(n for n in near if same_thing(self._phrases[n], wanted))
        return sorted(places)
