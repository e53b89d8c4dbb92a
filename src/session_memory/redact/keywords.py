"""The first pass over a text: which keywords of the rules it contains, all in one automaton.

Everyday rules have keywords that most texts contain, so a second automaton looks for their
prefilters. A single automaton would need states for every combination of the two.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

from session_memory.redact.linear_regex import compile_set, literal
from session_memory.redact.rule import Rule

EVERYDAY = -1
"""Stands for all everyday rules together: their keywords are not distinguished."""


class Keywords:
    """The keywords of a table of rules."""

    def __init__(self, rules: Sequence[Rule]) -> None:
        rules_of = defaultdict[bytes, list[int]](list)
        for order, rule in enumerate(rules):
            for keyword in () if has_prefilter(rule) else rule.keywords:
                rules_of[literal(keyword, exact=rule.exact)].append(order)
        everyday = [rule for rule in rules if has_prefilter(rule)]
        exact = {word for rule in everyday if rule.exact for word in rule.keywords}
        folded = {word for rule in everyday if not rule.exact for word in rule.keywords}
        for keyword in shortest(exact):
            rules_of[literal(keyword, exact=True)].append(EVERYDAY)
        for keyword in shortest(folded):
            rules_of[literal(keyword)].append(EVERYDAY)
        self._rules = tuple(rules_of.values())
        self._set = compile_set(rules_of)

    def seen(self, text: bytes) -> bool:
        """Whether the text contains any keyword of any rule."""
        return bool(self._set.Match(text))

    def rules(self, text: bytes) -> tuple[set[int], bool]:
        """The rules with a keyword in the text, and whether there is one of an everyday rule."""
        rules: set[int] = set()
        for index in self._set.Match(text) or ():
            rules.update(self._rules[index])
        everyday = EVERYDAY in rules
        rules.discard(EVERYDAY)
        return rules, everyday


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
