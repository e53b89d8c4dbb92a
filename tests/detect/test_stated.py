"""Which orders of the user are rules, and in which words."""

from __future__ import annotations

import pytest
from tests.detect.test_advice import space

from session_memory.core.schema import RuleStatement
from session_memory.detect.stated import rule_text
from session_memory.distil.rule_terms import terms_of

__all__ = ["space"]


@pytest.mark.rows("DET-12")
def test_an_order_mostly_about_something_else_is_no_rule() -> None:
    order = RuleStatement("use opus to plan option two", 1, None, "asks for it", False, "for")
    assert rule_text(order, frozenset(terms_of("opus"))) == ""
    assert rule_text(order, frozenset(terms_of("opus plan"))) == f'The user wants: "{order.text}"'


@pytest.mark.rows("DET-12")
@pytest.mark.parametrize(
    ("words", "is_rule"),
    [
        ("give me the link to the trail", False),
        ("use the deploy skill", False),
        ("use the deploy skill for releases", True),
        ("run the tests before you commit", True),
        ("always give me the link to the trail", True),
    ],
)
def test_an_order_is_a_rule_only_if_it_says_when(words: str, is_rule: bool) -> None:
    order = RuleStatement(words, 1, None, "asks for it", False, "for")
    assert bool(rule_text(order, frozenset(terms_of(words)))) == is_rule


@pytest.mark.rows("DET-12")
def test_a_statement_of_what_never_or_always_holds_is_a_rule_in_its_own_words() -> None:
    words = "internal changes are never breaking changes"
    policy = RuleStatement(words, 1, None, "states it for good", True, "for")
    assert rule_text(policy, frozenset(terms_of(words))) == f'The user wants: "{words}"'
    asked = RuleStatement(f"{words}?", 1, None, "states it for good", True, "for")
    assert rule_text(asked, frozenset(terms_of(words))) == ""


@pytest.mark.rows("DET-12")
def test_a_wish_is_quoted_from_where_it_begins() -> None:
    words = "heres what i dont want visual tests"
    wish = RuleStatement(words, 1, None, "does not want it", False, "against")
    told = rule_text(wish, frozenset(terms_of(words)))
    assert told == 'The user said: "i dont want visual tests"'
