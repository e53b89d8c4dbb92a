"""The ledger says which files and blocks are ours; without it everything stays."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.distribute.scenes import Hand, lesson
from tests.distribute.test_ownership_teammates import ONLY, old_block, shop

from session_memory.distribute.ledger import (
    FILE,
    Entry,
    Ledger,
    TargetFile,
    read_ledger,
    write_ledger,
)

__all__ = ["shop"]


@pytest.mark.rows("DIS-08")
def test_with_the_ledger_lost_all_that_was_written_stays(tmp_path: Path, shop: Path) -> None:
    hand = Hand(tmp_path / "data", shop, settings=ONLY)
    hand.give(lesson("p1"))
    before = (shop / "CLAUDE.md").read_text()
    (hand.data / FILE).unlink()
    for plan, done in (hand.undo(), hand.give(lesson("p1")), hand.give(lesson("p1"), force=True)):
        assert done.changed == () and plan.refused == ()
    assert (shop / "CLAUDE.md").read_text() == before
    plan, _ = hand.give(lesson("p1"))
    assert plan.left_alone and [one.pattern for one in plan.left_out] == ["p1"]


@pytest.mark.rows("DIS-08")
@pytest.mark.parametrize(("patterns", "ours"), [(("zed",), True), (("other",), False)])
def test_a_block_of_an_older_version_is_ours_if_the_ledger_says_the_same(
    tmp_path: Path, shop: Path, patterns: tuple[str, ...], ours: bool
) -> None:
    file = shop / "CLAUDE.md"
    file.write_text(old_block("- Ask Zed. [sm-zed]"))
    before = file.read_text()
    hand = Hand(tmp_path / "data", shop, settings=ONLY)
    hand.data.mkdir()
    entry = Entry(TargetFile(str(shop), "CLAUDE.md"), "shop", "block", patterns, 1)
    write_ledger(hand.data, Ledger((entry,)))
    hand.give(lesson("p1"))
    assert ("[sm-zed]" in file.read_text()) is not ours
    assert read_ledger(hand.data).entries[0].marker == 2
    hand.undo()
    assert file.read_text() == ("mine\n" if ours else before)
