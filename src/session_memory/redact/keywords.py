"""Which rules are worth trying on a text: one pass finds keywords, and a second one prefilters.

Everyday rules have keywords that most texts contain, so for these a second automaton looks for
their prefilters. A single automaton would need states for every combination of the two; so would
one for all prefilters, which is why each group of everyday rules has its own.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from functools import cached_property

from session_memory.redact.linear_regex import PatternSet, compile_set, literal
from session_memory.redact.rule import Rule

NAMES_END = frozenset({"names", "passwords"})
"""Groups of everyday rules that want a name to end where its word does: `token=` or `tokenStr`."""


class _Everyday:
    """One group of everyday rules; its automaton is made when a text first needs it."""

    def __init__(self, rules: Sequence[Rule], orders: Sequence[int]) -> None:
        self._rules, self._orders = rules, orders

    @cached_property
    def _prefilters(self) -> PatternSet:
        return compile_set(prefilter_of(self._rules[order]) for order in self._orders)

    def matching_rules(self, text: bytes) -> list[int]:
        """The rules whose prefilter is in the text."""
        return [self._orders[index] for index in self._prefilters.Match(text) or ()]


class Keywords:
    """The keywords and prefilters of a table of rules."""

    def __init__(self, rules: Sequence[Rule]) -> None:
        rules_of = defaultdict[bytes, list[int]](list)
        for order, rule in enumerate(rules):
            for keyword in () if rule.everyday else rule.keywords:
                rules_of[literal(keyword, exact=rule.exact)].append(order)
        groups = defaultdict[str, list[int]](list)
        for order, rule in enumerate(rules):
            if rule.everyday:
                groups[rule.everyday].append(order)
        self._everyday: list[_Everyday] = []
        for orders in groups.values():
            self._everyday.append(_Everyday(rules, orders))
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
        orders: set[int] = set()
        for index in self._set.Match(text) or ():
            orders.update(self._rules[index])
        for number, everyday in enumerate(self._everyday, start=1):
            if -number in orders:
                orders.remove(-number)
                orders.update(everyday.matching_rules(text))
        return orders | self._always if self._always else orders


def _words_of(rules: Sequence[Rule]) -> list[bytes]:
    """Keywords of everyday rules: the shortest are enough, as `pass` also finds `password`."""
    exact = shortest(word for rule in rules if rule.exact for word in rule.keywords)
    folded = shortest(word for rule in rules if not rule.exact for word in rule.keywords)
    names_end = all(rule.everyday in NAMES_END for rule in rules)
    return [
        *(literal(word, exact=True) for word in exact),
        *(_TOKEN if names_end and word == "token" else literal(word) for word in folded),
    ]


def _unless_followed_by(text: str) -> str:
    """Alternatives for what begins like `text` and then differs from it, or ends too soon."""
    return "|".join(f"{text[:at]}(?:[^{text[at]}]|\\z)" for at in range(1, len(text)))


# Codex writes `Original token count: 9` above all that a command printed, and `max_output_tokens`
# into every call: with the plain word each of its texts would be searched three times more.
_TOKEN = rf"(?i)token(?:[^s ]|s[a-z]|\z|{_unless_followed_by(' count: ')})".encode()


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
