"""One intent in different words is one rule."""

from __future__ import annotations

import pytest
from tests.distil.test_rules import rules


@pytest.mark.rows("DIG-09")
def test_one_intent_in_different_words_is_one_rule() -> None:
    (rule,) = rules(
        "dont add it yet", "i didnt ask you to rewrite it", "we should discuss before you edit it"
    )
    assert rule.intent == "discuss first"
    assert rule.sessions == 3
    assert rule.text == "we should discuss before you edit it"


def test_a_matter_of_taste_counts_by_its_intent() -> None:
    (rule,) = rules("this is over-engineered", "please keep it simple")
    assert (rule.intent, rule.text) == ("keep it short and simple", "keep it simple")
    assert rules("please keep it simple") == []
