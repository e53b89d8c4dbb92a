"""Wishes about the step at hand are told from wishes that last."""

from __future__ import annotations

import pytest

from session_memory.distil.lasting import is_for_now


@pytest.mark.rows("OBS-12")
@pytest.mark.parametrize(
    ("wish", "for_now"),
    [
        ("use the deploy skill", True),
        ("i thougth the pattern was to use bun run", True),
        ("let's use containers instead of virtual machines", False),
        ("i don't want you to push to main", False),
        ("invalid themes must never explode", False),
        ("next releases can drop old flags, document that as learning", False),
    ],
)
def test_a_wish_about_the_step_at_hand_is_known_by_its_words(wish: str, for_now: bool) -> None:
    assert is_for_now(wish) == for_now
