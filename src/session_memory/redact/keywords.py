"""The first look at a text: which keywords of the rules stand in it, all in one automaton.

Everyday rules have keywords that most texts hold, so what they look for is a second automaton. In
one with the keywords, each state of either would be built with each state of the other.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

from session_memory.redact.linear_regex import compile_set, literal
from session_memory.redact.rule import Rule

EVERYDAY = -1
"""Stands for all everyday rules together: their keywords are not told apart."""


class Keywords:
    """The keywords of a table of rules."""

    def __init__(self, rules: Sequence[Rule]) -> None:
        found_by = defaultdict[bytes, list[int]](list)
        for order, rule in enumerate(rules):
            for keyword in () if is_whole(rule) else rule.keywords:
                found_by[literal(keyword, exact=rule.exact)].append(order)
        everyday = [rule for rule in rules if is_whole(rule)]
        exact = {word for rule in everyday if rule.exact for word in rule.keywords}
        folded = {word for rule in everyday if not rule.exact for word in rule.keywords}
        for keyword in shortest(exact):
            found_by[literal(keyword, exact=True)].append(EVERYDAY)
        for keyword in shortest(folded):
            found_by[literal(keyword)].append(EVERYDAY)
        self._rules = tuple(found_by.values())
        self._set = compile_set(found_by)

    def seen(self, text: bytes) -> bool:
        """Is any keyword of any rule in the text?"""
        return bool(self._set.Match(text))

    def rules(self, text: bytes) -> tuple[set[int], bool]:
        """The rules of which a keyword is in the text, and whether an everyday one is."""
        found: set[int] = set()
        for sign in self._set.Match(text) or ():
            found.update(self._rules[sign])
        everyday = EVERYDAY in found
        found.discard(EVERYDAY)
        return found, everyday


def is_whole(rule: Rule) -> bool:
    """Is the rule looked for by a sign or by its whole pattern, since its keywords say little?"""
    return rule.everyday or bool(rule.sign)


def whole_sign(rule: Rule) -> bytes:
    """What stands in every match of such a rule."""
    return rule.sign or rule.pattern


def shortest(words: Iterable[str]) -> list[str]:
    """The words without those that hold another of them: `pass` is enough to see `password`."""
    kept: list[str] = []
    for word in sorted(set(words), key=len):
        if not any(short in word for short in kept):
            kept.append(word)
    return kept
