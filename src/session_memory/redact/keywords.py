"""Which rules are worth trying on a text: one pass finds keywords, and a second one prefilters.

Everyday rules have keywords that most texts contain, so for these a second automaton looks for
their prefilters. A single automaton would need states for every combination of the two; so would
one for all prefilters, which is why they are looked for some at a time.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from session_memory.redact.linear_regex import PatternSet, compile_set, literal
from session_memory.redact.rule import Rule

EVERYDAY_AT_A_TIME = 20
"""One automaton for 39 rules takes 0.28 s for 16 MB of text, most of it for building its states;
two automata take 0.18 s."""


class _Everyday(NamedTuple):
    """Some of the everyday rules."""

    orders: tuple[int, ...]
    prefilters: PatternSet


class Keywords:
    """The keywords and prefilters of a table of rules."""

    def __init__(self, rules: Sequence[Rule]) -> None:
        rules_of = defaultdict[bytes, list[int]](list)
        for order, rule in enumerate(rules):
            for keyword in () if has_prefilter(rule) else rule.keywords:
                rules_of[literal(keyword, exact=rule.exact)].append(order)
        everyday = [order for order, rule in enumerate(rules) if has_prefilter(rule)]
        self._everyday: list[_Everyday] = []
        for start in range(0, len(everyday), EVERYDAY_AT_A_TIME):
            orders = tuple(everyday[start : start + EVERYDAY_AT_A_TIME])
            self._everyday.append(
                _Everyday(orders, compile_set(prefilter_of(rules[order]) for order in orders))
            )
            for word in _words_of([rules[order] for order in orders]):
                rules_of[word].append(-len(self._everyday))
        self._always = frozenset(order for order, rule in enumerate(rules) if not rule.keywords)
        self._rules = tuple(rules_of.values())
        self._set = compile_set(rules_of)

    def seen(self, text: bytes) -> bool:
        """Whether the text can match any rule at all."""
        return bool(self._always or self._set.Match(text))

    def rules(self, text: bytes) -> set[int]:
        """The rules worth trying: those with a keyword, or a prefilter, in the text."""
        found: set[int] = set()
        for index in self._set.Match(text) or ():
            found.update(self._rules[index])
        for number, everyday in enumerate(self._everyday, start=1):
            if -number in found:
                found.remove(-number)
                matches = everyday.prefilters.Match(text) or ()
                found.update(everyday.orders[index] for index in matches)
        return found | self._always if self._always else found


def _words_of(rules: Sequence[Rule]) -> list[bytes]:
    """Keywords of everyday rules: the shortest are enough, as `pass` also finds `password`."""
    exact = shortest(word for rule in rules if rule.exact for word in rule.keywords)
    folded = shortest(word for rule in rules if not rule.exact for word in rule.keywords)
    return [*(literal(word, exact=True) for word in exact), *map(literal, folded)]


def has_prefilter(rule: Rule) -> bool:
    """Whether the second pass looks for the rule, as its keywords are too common."""
    return rule.everyday or bool(rule.prefilter)


def prefilter_of(rule: Rule) -> bytes:
    """What the second pass looks for: part of every match of the rule."""
    return rule.prefilter or rule.pattern


def shortest(words: Iterable[str]) -> list[str]:
    """The words without those that contain another: `pass` is enough to find `password`."""
    shortest_words: list[str] = []
    for word in sorted(set(words), key=len):
        if not any(short in word for short in shortest_words):
            shortest_words.append(word)
    return shortest_words
