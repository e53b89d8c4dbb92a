"""Wishes about the same thing are known by its terms."""

from __future__ import annotations

import pytest
from tests.distil.test_rules import DAY, rules


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("i dont like a visual test", "are you testing it visually? you can stop"),
        ("give me the link to the ticket", "link me to the ticket please"),
        (
            "let me know if it got linked to the dashboard",
            "let me know if the dashboard got linked",
        ),
        ("i really dont like nested ternaries", "we dont need nested ternaries"),
        ("did you run the linter?", "did you run the linter again?"),
        ("write it with the /tidy-prose skill", "use /tidy-prose for the reply"),
    ],
)
def test_the_same_wish_in_two_sessions_is_a_rule(one: str, other: str) -> None:
    assert rules(one) == []
    assert rules((one, other)) == []
    (rule,) = rules(one, other)
    assert rule.sure == "repeated"
    assert (rule.sessions, rule.times) == (2, 2)
    assert (rule.first_at, rule.last_at) == (1, DAY + 1)
    assert [(each.session, each.at) for each in rule.evidence] == [(1, 1), (2, DAY + 1)]


def test_unlike_wishes_do_not_add_up() -> None:
    assert rules("i dont want the blue border", "i dont want the long intro") == []
    assert rules("use the small parser for tests", "dont use the small parser") == []
