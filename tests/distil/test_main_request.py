"""The objective of a session whose first request only warms up."""

from __future__ import annotations

import pytest
from tests.distil.observing import SESSION, agent, in_order, user
from tests.distil.test_digest import build_digest

from session_memory.core.digest import first_request

LOOK = "check out main and look around the repository please"
MAIN = "please add a dark theme to the settings page, with a switch that remembers its state"


def objective(*prompts: str) -> str:
    """The objective of a session with these prompts."""
    events = [event for text in prompts for event in (user(text), agent("Done, as you wished."))]
    return build_digest(SESSION, in_order(*events)).objective or ""


@pytest.mark.rows("DIG-10")
def test_the_main_request_stands_after_a_first_one_that_says_less() -> None:
    found = objective(LOOK, MAIN, "thanks, commit it")
    assert found == f"{LOOK}; then: {MAIN}"
    assert first_request(found) == LOOK
    assert len(objective(LOOK * 9, MAIN * 9)) <= 300


@pytest.mark.rows("DIG-10")
def test_questions_complaints_and_repetitions_do_not_become_the_objective() -> None:
    assert objective(MAIN, "does the switch of the settings page remember its state now?") == MAIN
    assert objective(MAIN, "no, add the dark theme to the settings page") == MAIN
    assert objective(MAIN, "go on") == MAIN


def test_a_paragraph_that_points_at_the_next_is_joined_with_it() -> None:
    text = "on a separate worktree, so that nothing else changes, can we take this\n\n"
    assert objective(text + "and put it on the loading screen").endswith("on the loading screen")
