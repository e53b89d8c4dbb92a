"""`project notes`: what agents noted is decided on by a person."""

from __future__ import annotations

import json

import pytest
from tests.mcp.test_agent_tools import SHOP, Agent, command, memory_page, notes, space

from session_memory.cli.agent_notes import read_key
from session_memory.testing.workspace import Workspace

__all__ = ["space"]


@pytest.mark.rows("AGT-02")
def test_a_note_waits_until_the_user_confirms_it_and_can_be_taken_back(space: Workspace) -> None:
    agent = Agent(space)
    taken = agent.call("mem_note", text="The parser lives in core")["structuredContent"]
    (waiting,) = taken["waiting"]
    assert "project memory review" in taken["next_action"]
    assert memory_page(space) == ""
    (note,) = notes(space)
    assert (note["flavor"], note["session"], note["root"]) == ("claude", "native-7", SHOP)
    command(space, "project", "memory", "confirm", waiting["id"])
    assert "The parser lives in core (noted by claude in session native-7)" in memory_page(space)
    assert notes(space) == []
    for ask in (("rules", "explain"), ("project", "memory", "why")):
        shown = command(space, *ask, waiting["id"])
        assert (
            "observation, written by claude in session native-7" in shown and "confirmed" in shown
        )
    assert waiting["id"] in command(space, "project", "memory", "why", "parser lives")
    command(space, "project", "memory", "undo")
    assert "The parser lives in core" not in memory_page(space)
    command(space, "project", "memory", "why", "parser lives", ok=1)
    assert [note["state"] for note in notes(space)] == ["waiting"]
    command(space, "project", "memory", "reject", waiting["id"])
    assert notes(space) == [] and notes(space, "--all")[0]["state"] == "rejected"
    command(space, "project", "memory", "confirm", waiting["id"], ok=2)
    agent.close()


@pytest.mark.rows("AGT-02")
def test_a_confirmed_rule_is_in_the_catalog_and_in_no_file(space: Workspace) -> None:
    agent = Agent(space)
    agent.call("mem_note", kind="rule", text="Always squash before you push")
    (note,) = notes(space)
    shown = command(space, "project", "memory", "confirm", note["id"])
    (confirmed,) = notes(space, "--all")
    assert confirmed["pattern"] and confirmed["pattern"] in shown
    listed = command(space, "rules", "show", confirmed["pattern"])
    assert "Always squash before you push" in listed
    agent.close()


@pytest.mark.rows("AGT-02")
def test_another_wording_of_a_rule_is_confirmed_and_taken_back(space: Workspace) -> None:
    rule = json.loads(command(space, "rules", "add", "Never push.", "--project", "shop", "--json"))
    pattern = rule["decisions"][0]["id"]
    agent = Agent(space)
    taken = agent.call("mem_draft", pattern_id=pattern, text="Push only when asked.")
    note = taken["structuredContent"]["waiting"][0]["id"]
    assert "words rule" in command(space, "project", "memory", "confirm", note)
    assert "Push only when asked." in command(space, "rules", "show", pattern)
    command(space, "project", "memory", "undo", note)
    assert "Never push." in command(space, "rules", "show", pattern)
    command(space, "project", "memory", "confirm", note)
    command(space, "rules", "edit", pattern, "--text", "Never force a push.")
    command(space, "project", "memory", "undo", note, ok=2)
    agent.close()


@pytest.mark.rows("AGT-02")
def test_an_unknown_note_among_several_stops_before_any_is_decided_on(space: Workspace) -> None:
    agent = Agent(space)
    taken = agent.call("mem_note", text="The parser lives in core")["structuredContent"]
    known = taken["waiting"][0]["id"]
    command(space, "project", "memory", "confirm", known, "n-nope", ok=1)
    command(space, "project", "memory", "reject", known, "n-nope", ok=1)
    assert [note["id"] for note in notes(space)] == [known]
    command(space, "project", "memory", "confirm", known, known[:6])
    assert memory_page(space).count("The parser lives in core") == 1
    agent.close()


@pytest.mark.rows("AGT-02")
def test_only_a_key_that_decides_ends_the_question(monkeypatch: pytest.MonkeyPatch) -> None:
    keys = iter(("\r", "?", "\x1b[A", "Y\r", "n"))
    monkeypatch.setattr("click.getchar", lambda: next(keys))
    assert (read_key(), read_key()) == ("y", "n")
