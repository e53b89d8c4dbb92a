"""Statements of traces are said once, in the newer or the stronger words."""

from __future__ import annotations

from tests.memory.test_rule_consolidation import said

from session_memory.memory.statements import merge_same


def test_newer_words_win_and_a_stronger_older_claim_stays_with_a_note() -> None:
    newer = said("do not run the migrations by hand", "new", 2)
    older = said("run the migrations by hand", "old", 1)
    assert [one.text for one in merge_same([older, newer])] == [newer.text]
    strong = said(older.text, "old", 1, strength=3)
    kept = merge_same([strong, newer])
    assert [one.text for one in kept] == [newer.text, strong.text]
    assert all(one.note.startswith("verify") for one in kept)


def test_the_same_thing_is_said_once_in_the_newer_words() -> None:
    (one,) = merge_same(
        [
            said("always use tabs in python files", "old", 1),
            said("always use tabs in python files please", "new", 2),
        ]
    )
    assert one.text.endswith("please") and one.threads == ("new", "old")
