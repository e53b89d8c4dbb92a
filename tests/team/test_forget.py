"""What is forgotten leaves hub, laptops and what was pulled."""

from __future__ import annotations

import pytest
from tests.team.model_hub import ModelHub
from tests.team.test_take_back import MakeLaptop, pulled_words, two_people


@pytest.mark.rows("TEA-07")
def test_a_forgotten_session_leaves_hub_and_other_laptops(
    hub: ModelHub, laptop: MakeLaptop
) -> None:
    ada, bob = two_people(laptop)
    assert b"poetry" in hub.words() and b"poetry" in pulled_words(bob)
    done = ada.do("forget", "--session", ada.cured(1).session_id, "--yes")
    assert "the team's hub" in done.stdout and "team push" in done.stdout
    assert ada.read("team", "status")["waits"]["forgotten"] == 1
    output = ada.do("team", "push").stdout
    assert "forgotten on the hub: 1 session" in output
    assert "0 rows, 0 index entries, 0 stored texts and 0 data keys left" in output
    assert b"poetry" not in hub.words() and b"another wish" in hub.words()
    bob.do("team", "pull")
    assert b"poetry" not in pulled_words(bob) and b"another wish" in pulled_words(bob)
    assert any(
        each["what"] == "forgotten" and "0 rows" in each["proof"]
        for each in ada.read("team", "receipts")["receipts"]
    )


@pytest.mark.rows("TEA-07")
def test_a_forgotten_text_leaves_what_was_pulled_from_others(
    hub: ModelHub, laptop: MakeLaptop
) -> None:
    _ada, bob = two_people(laptop)
    bob.do("forget", "--text", "another wish entirely", "--yes")
    assert b"another wish" not in pulled_words(bob)
    assert b"poetry" in pulled_words(bob)
