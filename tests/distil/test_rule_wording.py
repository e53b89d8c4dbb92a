"""A rule is worded so that it can be read alone."""

from __future__ import annotations

import pytest

from session_memory.distil.rule_wording import reads_as_rule


@pytest.mark.parametrize(
    ("said", "tells"),
    [
        ("lets keep the docs short", True),
        ("i dont want screenshots in the docs", True),
        ("I'd rather have small commits", True),
        ("you didnt include the changed files", False),
    ],
)
def test_a_wording_that_says_what_to_do_can_be_told_alone(said: str, tells: bool) -> None:
    assert reads_as_rule(said) is tells
