"""How a guard speaks follows from what the user decided on these very words."""

from __future__ import annotations

from session_memory.core.loop.guards import Choice, mode_for, text_hash

RULE = "Use bun, not npm."


def test_a_guard_only_hints_until_the_user_decides() -> None:
    assert mode_for(None, RULE) == "hint"


def test_a_choice_holds_for_the_words_it_was_made_for() -> None:
    refuse = Choice(rule="r", wish="refuse", at=1, of_text=text_hash(RULE))
    assert mode_for(refuse, RULE) == "refuse"
    assert mode_for(refuse, "Use bun, never npm.") == "hint"


def test_a_guard_that_is_off_stays_off_whatever_the_words() -> None:
    off = Choice(rule="r", wish="off", at=1, of_text=text_hash(RULE))
    assert mode_for(off, "other words") is None
