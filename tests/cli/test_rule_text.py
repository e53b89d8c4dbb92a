"""Rules are shown with their text."""

from __future__ import annotations

from tests.cli.test_review import Desk, desk
from tests.curate.proposals import proposal

__all__ = ["desk"]


def test_undo_shows_the_text_it_is_about(desk: Desk) -> None:
    desk.propose(proposal("p1"))
    desk.run("approve", "p1")
    assert "would undo: approve" in desk.run("undo", "--dry-run")
    output = desk.run("undo")
    assert "undone: approve\np1: approved -> candidate" in output and proposal("p1").text in output
