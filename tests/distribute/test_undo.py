"""Undoing takes exactly what was given out of the files."""

from __future__ import annotations

from pathlib import Path

from tests.distribute.scenes import Hand, lesson, repository

from session_memory.distribute.ledger import read_ledger


def test_undo_of_one_pattern_leaves_the_others(tmp_path: Path) -> None:
    shop = repository(tmp_path, "shop", CLAUDE="mine")
    hand = Hand(tmp_path / "data", shop)
    hand.give(lesson("p1"), lesson("p2"))
    hand.undo(patterns=frozenset({"p1"}))
    text = (shop / "CLAUDE.md").read_text()
    assert "[sm-p1]" not in text and "[sm-p2]" in text
    assert {entry.patterns for entry in read_ledger(hand.data).entries} == {("p2",)}
    hand.undo(patterns=frozenset({"p2"}))
    assert (shop / "CLAUDE.md").read_text() == "mine" and not (shop / "AGENTS.md").exists()
