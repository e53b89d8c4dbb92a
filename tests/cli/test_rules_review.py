"""`rules review` in order, without dead ends."""

from __future__ import annotations

from tests.cli.test_review import Desk, desk
from tests.curate.proposals import proposal, seen

from session_memory.__main__ import main

__all__ = ["desk"]


def test_what_cannot_be_approved_keeps_its_place_and_awaits_no_decision(desk: Desk) -> None:
    desk.propose(proposal("p1", evidence=seen(1)), proposal("p2"))
    assert [row["id"] for row in desk.json("list")["patterns"]] == ["p1", "p2"]
    desk.run("list")
    assert "1 of 2 rules await" in desk.err and "1 more have too little evidence" in desk.err
    desk.run("approve", "p2")
    desk.run("list")
    assert "No rule awaits your decision; 1 with too little evidence for a yes" in desk.err


def test_a_list_with_nothing_to_decide_names_what_is_provisional(desk: Desk) -> None:
    desk.propose(proposal("p1", evidence=seen(2)))
    desk.run("approve", "p1")
    assert desk.run("list") == ""
    assert "No rule awaits your decision; 1 provisional (not given to agents yet)" in desk.err
    assert "rules list --all" in desk.err


def test_an_empty_list_names_the_command_that_fills_it(desk: Desk) -> None:
    assert main(["sweep"]) == 0
    desk.run("list")
    assert "`session-memory rules add TEXT`" in desk.err
    desk.propose(proposal("p1"))
    desk.run("list", "--status", "approved")
    assert desk.err == "0 of 1 rules shown\n"
