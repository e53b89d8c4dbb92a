"""Which sentences of a user can be read without what was said before."""

from __future__ import annotations

import pytest

from session_memory.distil.rule_clarity import illustrates, is_about_looks, reads_aloud


@pytest.mark.parametrize("text", ["Never commit to main without running the tests."])
def test_a_sentence_that_names_its_matter_reads_aloud(text: str) -> None:
    assert reads_aloud(text)


@pytest.mark.parametrize("text", ["don't do that again", "no, not this one"])
def test_a_sentence_that_points_at_its_moment_does_not(text: str) -> None:
    assert not reads_aloud(text)
    assert not illustrates("do it like this for now")


def test_what_the_product_shows_is_no_way_to_work() -> None:
    assert is_about_looks("the button should be blue")
    assert not is_about_looks("run the tests before every commit")
